// Package compare is the verb compare. It also searches the smallest wrong case, judges added files of a GPU
// in the emulator, and runs kernels under compute-sanitizer.
package compare

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"triad/cmd/triad/console"
	"triad/cmd/triad/fleet"
	"triad/cmd/triad/manyfiles"
	"triad/cmd/triad/runsetup"
	"triad/internal/backend"
	"triad/internal/dump"
	"triad/internal/hosttrouble"
	"triad/internal/report"
	"triad/internal/run"
	"triad/internal/session"
	"triad/internal/shrink"
	"triad/internal/timing"
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
	o.Add(cmd, "both")
	o.AddOnGPU(cmd)
	o.AddPlan(cmd)
	o.AddShard(cmd)
	o.On.Add(cmd)
	o.AddAgainst(cmd)
	o.AddCI(cmd)
	cmd.Flags().BoolVar(&o.Write, "write", false, "with --add: then put the line above each function that "+
		"says how it was read, // triad: OP(tensor=parameter, ...) (docs/own-kernels.md)")
	return cmd
}

// compare runs one request from flags to exit code.
func (a *Verb) compare(ctx context.Context, names []string, o *runsetup.Options) error {
	if err := o.OwnFlags.Expand(a.Setup); err != nil {
		return err
	}
	request, err := o.Request(names)
	if err != nil {
		return err
	}
	if err := o.CheckPlan(); err != nil {
		return err
	}
	if o.On.Apart() {
		if o.Write {
			return console.Usage("--write changes files here: leave out --on, or --write")
		}
		return fleet.Compare(ctx, a.Setup, request, o)
	}
	if o.OwnFlags.Database, err = a.DatabasePath(o.DB); err != nil {
		return err
	}
	if o.Verb == "compare" && o.OwnFlags.Many && runsetup.FolderOf(&request) == nil {
		return manyfiles.Compare(ctx, a.Setup, request, o)
	}
	if len(o.Sanitizers) > 0 {
		if o.Against+o.Shard+o.Dump+o.JUnit != "" || o.GitHub || o.Resume || o.Explain || o.Verbose ||
			o.Untimed || o.Write {
			return console.Usage(
				"--sanitize says what tools find: --against, --shard, --junit, --github, --resume, " +
					"--explain, --verbose, --dump, --write and --no-timing are flags of a comparison " +
					"without it",
			)
		}
		return a.sanitize(ctx, request, o)
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
		Words: slices.Concat([]string{o.Verb}, o.OwnFlags.Words(), o.ShardWords()),
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
	twins, err := a.besideGPU(ctx, s.Runner, mine, needs)
	if err != nil {
		return err
	}
	defer twins.Close()
	var calls *watched.Calls
	if !o.OwnFlags.Confined() { // a watched call runs outside the sandbox
		calls = watchedCallsOf(a.Workers)
	}
	a.lookCloser(s.Runner, o.Dump, calls, needs.GPU == nil || twins != nil)
	before, err := a.readAgainst(ctx, s.Request, o)
	if err != nil {
		return err
	}
	var smallest []shrink.Diagnosed
	var standing []place
	result, end, err := s.Run(ctx, (*run.Runner).Compare, func(result run.Result) (err error) {
		if smallest, err = a.smallestCases(ctx, mine, twins, s.Request, result, s.Info.Added,
			calls); err != nil {
			return err
		}
		standing = a.places(ctx, mine, s.Request, result.Records, calls != nil && !o.JSON &&
			o.Verb != "gradcheck")
		return keepDiagnoses(smallest, result.Records, s.Diagnose)
	})
	for _, look := range []func(run.Result){o.After, a.PartRan} {
		if look != nil {
			look(result)
		}
	}
	if end.Usage() {
		return end.Failure(err)
	}
	err = errors.Join(err, a.PrintCompare(s, result, o, end), a.TellCI(s, result, o))
	if !o.JSON {
		a.tellBesides(result)
		err = errors.Join(err, a.tellPlaces(standing, placesOnGPU(s.Request, result.Records), o))
		err = errors.Join(err, TellSmallest(a.Out, a.Style(), smallest), a.TellTheirs(ctx, mine, result))
	}
	err = errors.Join(err, a.tellSince(ctx, before, s, o, &end))
	if o.Write && mine != nil {
		a.TellWritten(mine.WriteLines(), o.JSON)
	}
	return end.Failure(err)
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
