package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"triad/internal/catalog"
	"triad/internal/hosttrouble"
	"triad/internal/report"
	"triad/internal/run"
	"triad/internal/session"
)

// compareOptions holds the options of compare.
type compareOptions struct {
	caseFlags
	environmentFlags
	ownFlags
	json, resume, explain, verbose bool
	untimed, strict, planOnly      bool
	sanitizers                     []string // tools of compute-sanitizer
	verb, db, dump, against        string
	ciFlags
	on    onFlags
	args  []string // as typed
	after func(run.Result)
}

func (a *app) compareCommand() *cobra.Command {
	o := compareOptions{verb: "compare"}
	cmd := &cobra.Command{
		Use:   "compare OP...",
		Short: "run and judge every implementation of an operator",
		Long: `compare runs every implementation of one operator, of several, or of all, judges each output
element by element against an fp64 truth, records every result, and prints who is right, by how much, and
where the worst element is.`,
		Example: `  triad compare softmax
  triad compare softmax layernorm --quick --dtype bf16
  triad compare flash_attention --impl cuda --attr causal=true --dims seq_q=100,seq_kv=130
  triad compare all --quick --json
  triad compare softmax --impl mine --add mine.cu --write`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return append(catalog.Names(), "all"), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, names []string) error {
			o.args = os.Args[min(1, len(os.Args)):]
			return a.compare(cmd.Context(), names, &o)
		},
	}
	o.add(cmd, "both")
	o.addOnGPU(cmd)
	o.addPlan(cmd)
	o.addShard(cmd)
	o.on.add(cmd)
	o.addAgainst(cmd)
	o.addCI(cmd)
	cmd.Flags().BoolVar(&o.write, "write", false, "with --add: then put the line above each function that "+
		"says how it was read, // triad: OP(tensor=parameter, ...) (docs/own-kernels.md)")
	return cmd
}

// addOnGPU adds the flags for a GPU to compare.
func (o *compareOptions) addOnGPU(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.untimed, "no-timing", false,
		"do not time what passed: the operator's first bench point, or the case that the flags name")
	cmd.Flags().StringSliceVar(&o.sanitizers, "sanitize", nil,
		"on a GPU: run CUDA kernels, those of --add too, under these tools of compute-sanitizer, e.g. "+
			"memcheck,racecheck, or all")
}

// addAgainst adds the flag for a comparison with earlier records to compare.
func (o *compareOptions) addAgainst(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.against, "against", "",
		"then say what became wrong, right, slower or faster since a session, commit or database, as triad "+
			"results diff names them")
}

// add adds the flags of a run to a verb; pass is the default of --pass.
func (o *compareOptions) add(cmd *cobra.Command, pass string) {
	o.caseFlags.add(cmd, pass)
	o.environmentFlags.add(cmd)
	o.ownFlags.register(cmd)
	cmd.Flags().BoolVar(&o.json, "json", false,
		"one JSON object a line for each implementation and case (docs/json.md)")
	cmd.Flags().BoolVar(&o.resume, "resume", false, "finish the newest interrupted run of the same request")
	cmd.Flags().BoolVar(&o.explain, "explain", false,
		"for each output: what its contract promises, the worst elements, how the errors are distributed")
	cmd.Flags().BoolVarP(&o.verbose, "verbose", "v", false,
		"a line for each dtype with its largest error, the cases that cannot tell right from wrong, and "+
			"how far implementations lie apart")
	o.addStrict(cmd)
	cmd.Flags().StringVar(&o.dump, "dump", "",
		"write inputs, outputs, truth and allowance of every case as safetensors into this folder")
	cmd.Flags().StringVar(&o.db, "db", "", databaseUsage)
}

func (o *compareOptions) addStrict(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.strict, "strict", false,
		"count KNOWN as bad: faults of libraries that a documented finding covers (triad ops findings)")
}

// compare runs one request from flags to exit code.
func (a *app) compare(ctx context.Context, names []string, o *compareOptions) error {
	if err := o.ownFlags.expand(a); err != nil {
		return err
	}
	request, err := o.request(names)
	if err != nil {
		return err
	}
	if err := o.checkPlan(); err != nil {
		return err
	}
	if o.on.apart() {
		if o.write {
			return usage("--write changes files here: leave out --on, or --write")
		}
		return a.compareOn(ctx, request, o)
	}
	if o.ownFlags.database, err = a.databasePath(o.db); err != nil {
		return err
	}
	if o.verb == "compare" && o.ownFlags.many && folderOf(&request) == nil {
		return a.compareFiles(ctx, request, o)
	}
	if len(o.sanitizers) > 0 {
		if o.against+o.shard+o.dump+o.junit != "" || o.github || o.resume || o.explain || o.verbose ||
			o.untimed || o.write {
			return usage(
				"--sanitize says what tools find: --against, --shard, --junit, --github, --resume, " +
					"--explain, --verbose, --dump, --write and --no-timing are flags of a comparison " +
					"without it",
			)
		}
		return a.sanitize(ctx, request, o)
	}
	return a.judge(ctx, request, o)
}

// sessionNeeds completes a request with what this machine has, and returns the options of its session.
func (a *app) sessionNeeds(ctx context.Context, request *run.Request, o *compareOptions) (
	sessionOptions, error,
) {
	if few := hosttrouble.FewThreads(); few != "" {
		fmt.Fprintln(a.err, "triad:", few)
	}
	options, err := a.workerOptions(&o.caseFlags)
	if err != nil {
		return sessionOptions{}, err
	}
	if err := errors.Join((dumper{o.dump}).ready(), o.readyForCI()); err != nil {
		return sessionOptions{}, err
	}
	onGPU, err := a.chooseGPU(ctx, &o.caseFlags, o.environmentFlags)
	if err != nil {
		return sessionOptions{}, err
	}
	if request.Explain = o.explain; onGPU != nil && !o.untimed && o.verb == "compare" {
		request.Timing = comparePlan()
	}
	return sessionOptions{
		compareOptions: o, gpu: onGPU, workers: options,
		words: slices.Concat([]string{o.verb}, o.ownFlags.words(), o.shardWords()),
	}, nil
}

// judge runs a request, records and prints the results, and turns them into an exit code.
func (a *app) judge(ctx context.Context, request run.Request, o *compareOptions) (err error) {
	needs, err := a.sessionNeeds(ctx, &request, o)
	if err != nil {
		return err
	}
	if o.planOnly {
		return a.printPlan(ctx, request, needs, (*run.Runner).PlanCompare)
	}
	s, mine, err := a.openSession(ctx, &request, needs)
	if err != nil {
		return err
	}
	defer s.Close(&err)
	twins, err := a.besideGPU(ctx, s.Runner, mine, needs)
	if err != nil {
		return err
	}
	defer twins.Close()
	var calls *watchedCalls
	if !o.ownFlags.confined() { // a watched call runs outside the sandbox
		calls = a.watchedCalls()
	}
	a.lookCloser(s.Runner, o.dump, calls, needs.gpu == nil || twins != nil)
	before, err := a.readAgainst(ctx, s.Request, o)
	if err != nil {
		return err
	}
	var smallest []diagnosed
	result, end, err := s.Run(ctx, (*run.Runner).Compare, func(result run.Result) (err error) {
		if smallest, err = a.smallestCases(ctx, mine, twins, s.Request, result, s.Info.Added,
			calls); err != nil {
			return err
		}
		return keepDiagnoses(smallest, result.Records, s.Diagnose)
	})
	for _, look := range []func(run.Result){o.after, a.partRan} {
		if look != nil {
			look(result)
		}
	}
	if end.Usage() {
		return end.Failure(err)
	}
	err = errors.Join(err, a.printCompare(s, result, o, end), a.tellCI(s, result, o))
	if !o.json {
		a.tellBesides(result)
		err = errors.Join(err, a.tellSmallest(smallest), a.tellTheirs(ctx, mine, result))
	}
	err = errors.Join(err, a.tellSince(ctx, before, s, o, &end), a.tellReport(s, result, o))
	if o.write && mine != nil {
		a.tellWritten(mine.writeLines(), o.json)
	}
	return end.Failure(err)
}

// tellReport ends a comparison by printing the command for its page.
func (a *app) tellReport(s *session.Session, result run.Result, o *compareOptions) error {
	if !s.Recorded() {
		return nil
	}
	return a.tellPage(s.ID(), result, o)
}

// tellPage prints the command for the page of a session.
func (a *app) tellPage(id string, result run.Result, o *compareOptions) error {
	if o.json || len(result.Records) == 0 {
		return nil
	}
	_, err := fmt.Fprintln(a.out, "Look at it: triad results report "+id+a.inDatabase)
	return err
}

// lookCloser sets what a run produces in addition to its verdicts: dumps into a folder, "" for none, and in
// the emulator the lines of races.
func (a *app) lookCloser(r *run.Runner, dump string, calls *watchedCalls, emulated bool) {
	if dump != "" {
		r.Dumper = dumper{dump}
	}
	if emulated && calls != nil {
		r.Races = newRaceLines(calls).find
	}
}

// printCompare prints a result as a table, or as JSON lines.
func (a *app) printCompare(s *session.Session, result run.Result, o *compareOptions,
	end session.Ending,
) error {
	if !s.Recorded() {
		if result.Interrupted {
			fmt.Fprintln(a.err, "triad: stopped before anything was run")
		}
		return nil
	}
	if err := a.printSteps(result.Steps, o.json); err != nil {
		return err
	}
	if o.json {
		return report.JSONLines(a.out, result.Records)
	}
	if o.explain {
		if err := report.Explain(a.out, a.style(), result.Records); err != nil {
			return err
		}
	}
	summary := summaryOf(s, result, end)
	summary.Timed, summary.Power, summary.Details = timed(result), powerOf(result), o.verbose || o.explain
	return report.Compare(a.out, a.style(), result.Records, result.Differences, summary)
}

func powerOf(result run.Result) report.Power {
	p := result.Power
	return report.Power{Cases: p.Cases, Powered: p.Cases - len(p.Powerless), Trivial: len(p.Trivial)}
}
