// Package bench is the verb bench, with its profiles.
package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"triad/cmd/triad/flags"
	"triad/internal/console"
	"triad/internal/fleetrun"
	"triad/internal/ownkernels"
	"triad/internal/profile"
	"triad/internal/report"
	"triad/internal/run"
	"triad/internal/runsetup"
	"triad/internal/session"
	"triad/internal/timing"
)

// Options holds the options of bench.
type Options struct {
	runsetup.Options
	regimes          []string
	burst, sustained bool
	rounds           int
	budget           time.Duration
	profiles         string // the folder for ncu's counts; "": bench times
	given            func(flag string) bool
}

// notProfiled lists the flags of bench for timing, which a profile does not do.
var notProfiled = []string{
	"regime", "burst", "sustained", "rounds", "budget", "resume", "plan", "shard", "on", "gpus", "shards",
	"slurm", "parts",
}

// verb runs triad bench.
type verb struct {
	*runsetup.Setup
	print profile.Print
}

// New returns the command triad bench; run replaces what it does, nil: it times.
func New(s *runsetup.Setup, print profile.Print, run func(context.Context, []string, *Options) error,
) *cobra.Command {
	if run == nil {
		run = (&verb{s, print}).bench
	}
	o := Options{Options: runsetup.Options{Verb: "bench"}}
	cmd := &cobra.Command{
		Use:   "bench OP...",
		Short: "time what is right, on a GPU",
		Long: `bench judges every implementation on the operator's bench points and times those that passed:
calls captured in CUDA graphs over rotating inputs and outputs, in rounds in which the implementations take
turns. What the timed calls wrote is judged again. Every sample is kept.`,
		Example: `  triad bench softmax
  triad bench all --regime cold,warm --sustained
  triad bench layernorm --pass backward --dims rows=8192,cols=4096 --impl cuda,torch
  triad bench softmax --quick --impl cuda,triton --profile counted`,
		RunE: func(cmd *cobra.Command, names []string) error {
			o.Args = os.Args[min(1, len(os.Args)):]
			return run(cmd.Context(), names, &o)
		},
	}
	o.AddFlags(cmd)
	return cmd
}

// AddFlags adds the flags of bench.
func (o *Options) AddFlags(cmd *cobra.Command) {
	flags.Cases(cmd, &o.CaseFlags, "both")
	flags.Own(cmd, &o.Own)
	flags.Environment(cmd, &o.EnvironmentFlags)
	fs := cmd.Flags()
	o.given = fs.Changed
	fs.Lookup("quick").Usage = "the first bench point of each dtype and pass alone, in at most 60 rounds " +
		"and 1.5 s"
	fs.Lookup("dims").Usage = "sizes, e.g. rows=8,cols=1000; a dim not named keeps that of each bench point"
	_ = fs.MarkHidden("full") // bench takes every point anyway: the flag is refused
	fs.StringSliceVar(&o.regimes, "regime", []string{"cold"},
		"cold (nothing in the L2 cache), warm (everything that fits), or both")
	fs.BoolVar(&o.burst, "burst", false, "also time after a second of rest before each measurement")
	fs.BoolVar(&o.sustained, "sustained", false,
		"also time after three seconds of the same call, when clock and power have settled")
	fs.IntVar(&o.rounds, "rounds", 200, "at most so many rounds for each bench point and regime")
	fs.DurationVar(&o.budget, "budget", 10*time.Second, "so long for the timed calls of each bench point "+
		"and regime, beside rests, settling and who takes more than twice the fastest's time; up to three "+
		"times as long where a comparison lacks rounds")
	fs.StringVar(&o.profiles, "profile", "",
		"do not time: run the kernels under NVIDIA's ncu, say what their warps wait for, and keep what it "+
			"counted in this folder")
	fs.BoolVar(&o.Resume, "resume", false, "finish the newest interrupted run of the same request")
	flags.Strict(cmd, &o.Options)
	fs.BoolVar(&o.JSON, "json", false,
		"one JSON object a line for each implementation and bench point (docs/json.md)")
	fs.StringVar(&o.DB, "db", "", console.DatabaseUsage)
	flags.Plan(cmd, &o.Options)
	flags.Shard(cmd, &o.Options)
	flags.On(cmd, &o.On)
}

// Plan turns flags into a plan of timing.
func (o *Options) Plan() (*timing.Plan, error) {
	if o.Full {
		return nil,
			console.Usage("bench takes every bench point: --full is a flag of compare, --quick takes the " +
				"first alone")
	}
	p := &timing.Plan{Rounds: o.rounds, Budget: o.budget, Wake: 3 * time.Second}
	if short := timing.ComparePlan(); o.Quick {
		if !o.given("rounds") {
			p.Rounds = short.Rounds
		}
		if !o.given("budget") {
			p.Budget = short.Budget
		}
	}
	if o.rounds < 1 || o.budget <= 0 {
		return nil, console.Usage("--rounds %d --budget %v: want both above 0", o.rounds, o.budget)
	}
	loads := []timing.Load{timing.Interleaved}
	if o.burst {
		loads = append(loads, timing.Burst)
	}
	if o.sustained {
		loads = append(loads, timing.Sustained)
	}
	for _, load := range loads {
		for _, word := range o.regimes {
			if word != "cold" && word != "warm" {
				return nil, console.Usage("--regime %q: want cold, warm, or cold,warm", word)
			}
			r := timing.Regime{Cold: word == "cold", Load: load}
			if !slices.Contains(p.Regimes, r) {
				p.Regimes = append(p.Regimes, r)
			}
		}
	}
	return p, nil
}

// words returns the verb and what else decides what a bench does; --resume finds an interrupted one by them.
func (o *Options) words(p *timing.Plan) []string {
	words := slices.Concat([]string{o.Verb}, o.Own.Words(), o.ShardWords())
	for _, r := range p.Regimes {
		words = append(words, r.String())
	}
	return words
}

// bench runs one request from flags to exit code.
func (a *verb) bench(ctx context.Context, names []string, o *Options) (err error) {
	if err := o.Own.Expand(a.In, a.PartRoot); err != nil {
		return err
	}
	request, err := o.Request(a.Files, names)
	if err != nil {
		return err
	}
	if request.Timing, err = o.Plan(); err != nil {
		return err
	}
	if err := o.CheckPlan(); err != nil {
		return err
	}
	if o.profiles != "" {
		for _, flag := range notProfiled {
			if o.given(flag) {
				return console.Usage("--profile times nothing: --%s is a flag of a bench without it", flag)
			}
		}
		return profile.Run(ctx, a.Setup, request, &o.Options, o.profiles, a.print)
	}
	if o.On.Apart() {
		return fleetrun.Bench(ctx, a.Setup, request, &o.Options, o.words(request.Timing))
	}
	options, onGPU, err := a.WorkersAndGPU(ctx, &o.Options)
	if err != nil {
		return err
	}
	if onGPU == nil {
		return session.Fail(session.ExitNothing,
			errors.New("there is no GPU to time on, and the time of an emulated kernel means "+
				"nothing: triad compare judges the same kernels here"))
	}
	needs := runsetup.SessionOptions{
		Options: &o.Options, GPU: onGPU, Workers: options, Words: o.words(request.Timing),
	}
	if o.PlanOnly {
		return a.PrintPlan(ctx, request, needs, (*run.Runner).PlanBench)
	}
	s, mine, err := a.OpenSession(ctx, &request, needs)
	if err != nil {
		return err
	}
	defer s.Close(&err)
	result, end, err := s.Run(ctx, (*run.Runner).Bench, nil)
	if end.Usage() || !s.Recorded() { // there is nothing to print
		return end.Failure(err)
	}
	err = errors.Join(err, a.printBench(s, result, o, end))
	if !o.JSON && mine != nil {
		a.printJudgedOnGPUAlone(result)
	}
	return end.Failure(err)
}

// printJudgedOnGPUAlone prints which of the user's CUDA files bench judged only on the GPU: its sizes are too
// large for the emulator, and a race seldom shows on a GPU.
func (a *verb) printJudgedOnGPUAlone(result run.Result) {
	var names []string
	for _, r := range result.Records {
		file, _, _ := strings.Cut(r.Impl, ":")
		if strings.HasPrefix(file, ownkernels.Family+"/") && strings.HasSuffix(file, ".cu") &&
			!slices.Contains(names, r.Impl) {
			names = append(names, r.Impl)
		}
	}
	if len(names) > 0 {
		fmt.Fprintf(a.Style().Wrap(a.Out), "%s: judged on the GPU alone, where races and reads out of "+
			"bounds seldom show; triad compare also judges the quick cases in the emulator, which "+
			"sees them.\n", strings.Join(names, ", "))
	}
}

// printBench prints a result as tables, or as JSON lines.
func (a *verb) printBench(s *session.Session, result run.Result, o *Options, end session.Ending) error {
	if o.JSON {
		return report.JSONLines(a.Out, result.Records)
	}
	return report.Bench(a.Out, a.Style(), result.Records, runsetup.Timed(result), runsetup.SummaryOf(s,
		result, end))
}
