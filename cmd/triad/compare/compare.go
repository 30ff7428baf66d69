// Package compare is the verb compare.
package compare

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"triad/cmd/triad/flags"
	"triad/internal/backend"
	"triad/internal/console"
	"triad/internal/dump"
	"triad/internal/fleetrun"
	"triad/internal/hosttrouble"
	"triad/internal/manyfiles"
	"triad/internal/opfolder"
	"triad/internal/participants"
	"triad/internal/record"
	"triad/internal/report"
	"triad/internal/run"
	"triad/internal/runsetup"
	"triad/internal/sanitize"
	"triad/internal/session"
	"triad/internal/shrink"
	"triad/internal/smallestcase"
	"triad/internal/standing"
	"triad/internal/timing"
	"triad/internal/twins"
	"triad/internal/watched"
)

// Verb runs triad compare.
type Verb struct{ *runsetup.Setup }

// New returns what runs triad compare.
func New(s *runsetup.Setup) *Verb { return &Verb{s} }

// Command returns the command triad compare; run replaces what it does, nil: it compares.
func (a *Verb) Command(run func(context.Context, []string, *runsetup.Options) error) *cobra.Command {
	if run == nil {
		run = a.compare
	}
	o := runsetup.Options{Verb: "compare"}
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
		RunE: func(cmd *cobra.Command, names []string) error {
			o.Args = os.Args[min(1, len(os.Args)):]
			return run(cmd.Context(), names, &o)
		},
	}
	flags.Run(cmd, &o, "both")
	flags.OnGPU(cmd, &o)
	flags.Plan(cmd, &o)
	flags.Shard(cmd, &o)
	flags.On(cmd, &o.On)
	flags.Against(cmd, &o)
	flags.CI(cmd, &o.CIFlags)
	cmd.Flags().BoolVar(&o.Own.Write, "write", false, "with --add: then put the line above each function "+
		"that says how it was read, // triad: OP(tensor=parameter, ...) (docs/own-kernels.md)")
	return cmd
}

// compare runs one request from flags to exit code.
func (a *Verb) compare(ctx context.Context, names []string, o *runsetup.Options) error {
	if err := o.Own.Expand(a.In, a.PartRoot); err != nil {
		return err
	}
	request, err := o.Request(a.Files, names)
	if err != nil {
		return err
	}
	if err := o.CheckPlan(); err != nil {
		return err
	}
	if o.On.Apart() {
		if o.Own.Write {
			return console.Usage("--write changes files here: leave out --on, or --write")
		}
		return fleetrun.Compare(ctx, a.Setup, request, o)
	}
	if o.Own.Database, err = a.DatabasePath(o.DB); err != nil {
		return err
	}
	if o.Verb == "compare" && o.Own.Many && opfolder.Of(request.Operators) == nil {
		return manyfiles.Compare(ctx, a.Setup, request, o)
	}
	if len(o.Sanitizers) > 0 {
		if o.Against+o.Shard+o.Dump+o.JUnit != "" || o.GitHub || o.Resume || o.Explain || o.Verbose ||
			o.Untimed || o.Own.Write {
			return console.Usage(
				"--sanitize says what tools find: --against, --shard, --junit, --github, --resume, " +
					"--explain, --verbose, --dump, --write and --no-timing are flags of a comparison " +
					"without it",
			)
		}
		return sanitize.Run(ctx, a.Setup, request, o)
	}
	return a.Judge(ctx, request, o)
}

// sessionNeeds completes a request with what this machine has, and returns the options of its session.
func (a *Verb) sessionNeeds(ctx context.Context, request *run.Request, o *runsetup.Options) (
	runsetup.SessionOptions, error,
) {
	if few := hosttrouble.FewThreads(); few != "" {
		fmt.Fprintln(a.Err, "triad:", few)
	}
	options, err := a.WorkerOptions(&o.CaseFlags)
	if err != nil {
		return runsetup.SessionOptions{}, err
	}
	if err := errors.Join((dump.Dumper{Dir: o.Dump}).Ready(), o.ReadyForCI()); err != nil {
		return runsetup.SessionOptions{}, err
	}
	onGPU, err := a.ChooseGPU(ctx, &o.DeviceFlags, o.EnvironmentFlags)
	if err != nil {
		return runsetup.SessionOptions{}, err
	}
	if request.Explain = o.Explain; onGPU != nil && !o.Untimed && o.Verb == "compare" {
		request.Timing = timing.ComparePlan()
	}
	return runsetup.SessionOptions{
		Options: o, GPU: onGPU, Workers: options,
		Words: slices.Concat([]string{o.Verb}, o.Own.Words(), o.ShardWords()),
	}, nil
}

// Judge runs a request, records and prints the results, and turns them into an exit code.
func (a *Verb) Judge(ctx context.Context, request run.Request, o *runsetup.Options) (err error) {
	needs, err := a.sessionNeeds(ctx, &request, o)
	if err != nil {
		return err
	}
	if o.PlanOnly {
		return a.PrintPlan(ctx, request, needs, (*run.Runner).PlanCompare)
	}
	s, mine, err := a.OpenSession(ctx, &request, needs)
	if err != nil {
		return err
	}
	defer s.Close(&err)
	emulated, err := twins.New(ctx, a.Setup, s.Runner, mine, needs)
	if err != nil {
		return err
	}
	defer emulated.Close()
	var calls *watched.Calls
	if !o.Own.Confined() { // a watched call runs outside the sandbox
		calls = smallestcase.Calls(a.Workers)
	}
	a.lookCloser(s.Runner, o.Dump, calls, needs.GPU == nil || emulated != nil)
	before, err := a.readAgainst(ctx, s.Request, o)
	if err != nil {
		return err
	}
	placed := mine != nil && calls != nil && !o.JSON && o.Verb != "gradcheck"
	s.KeepWorkers = placed // a kernel is counted after its verdict is printed
	var smallest []shrink.Diagnosed
	result, end, err := s.Run(ctx, (*run.Runner).Compare, func(result run.Result) (err error) {
		if smallest, err = smallestcase.Find(ctx, smallestcase.Judged{
			Files: mine, Twin: emulated.Of, Request: s.Request, Result: result, Added: s.Info.Added,
		}, calls); err != nil {
			return err
		}
		return smallestcase.Keep(smallest, result.Records, s.Diagnose)
	})
	a.after(o, result)
	if end.Usage() {
		return end.Failure(err)
	}
	err = errors.Join(err, a.PrintCompare(s, result, o, end), a.PrintCI(s, result, o))
	if !o.JSON {
		twins.Print(a.Setup, result)
		standing.PrintTimed(a.Out, s.Request, result.Records)
		var places []standing.Place
		if placed {
			places = a.places(ctx, mine, s.Request, result.Records)
		}
		err = errors.Join(err, standing.Print(ctx, a.Workers, places, o.Verbose || o.Explain),
			smallestcase.Print(a.Out, a.Style(), smallest),
			mine.PrintChecks(ctx, a.Stop, a.Out, result.Records))
	}
	err = errors.Join(err, a.printSince(ctx, before, s, o, &end))
	if o.Own.Write && mine != nil {
		a.TellWritten(mine.WriteLines(), o.JSON)
	}
	return end.Failure(err)
}

// after passes a result on to those who wait for it.
func (a *Verb) after(o *runsetup.Options, result run.Result) {
	for _, look := range []func(run.Result){o.After, a.PartRan} {
		if look != nil {
			look(result)
		}
	}
}

// lookCloser sets what a run produces in addition to its verdicts: dumps into a folder, "" for none, and in
// the emulator the lines of races.
func (a *Verb) lookCloser(r *run.Runner, dumps string, calls *watched.Calls, emulated bool) {
	if dumps != "" {
		r.Dumper = dump.Dumper{Dir: dumps}
	}
	if emulated && calls != nil {
		races := watched.NewRaceLines(calls)
		r.Races = func(ctx context.Context, b backend.Backend, job backend.Job) *run.Race {
			return (*run.Race)(races.Find(ctx, b, job))
		}
	}
}

// PrintCompare prints a result as a table, or as JSON lines.
func (a *Verb) PrintCompare(s *session.Session, result run.Result, o *runsetup.Options,
	end session.Ending,
) error {
	if !s.Recorded() {
		if result.Interrupted {
			fmt.Fprintln(a.Err, "triad: stopped before anything was run")
		}
		return nil
	}
	if err := a.printSteps(result.Steps, o.JSON); err != nil {
		return err
	}
	if o.JSON {
		return report.JSONLines(a.Out, result.Records)
	}
	if o.Explain {
		if err := report.Explain(a.Out, a.Style(), result.Records); err != nil {
			return err
		}
	}
	summary := runsetup.SummaryOf(s, result, end)
	summary.Timed, summary.Power, summary.Details = runsetup.Timed(result), runsetup.PowerOf(result),
		o.Verbose || o.Explain
	return report.Compare(a.Out, a.Style(), result.Records, result.Differences, summary)
}

// places returns where added files stand on their ladders. The first Ctrl-C ends the counting: the verdicts
// are printed.
func (a *Verb) places(ctx context.Context, mine *participants.OwnFiles, r run.Request,
	records []record.Record,
) []standing.Place {
	ctx, done := a.AtFirstInterrupt(ctx)
	defer done()
	return standing.Places(ctx, a.Workers, mine, r, records)
}
