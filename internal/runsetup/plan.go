package runsetup

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"triad/internal/console"
	"triad/internal/op"
	"triad/internal/report"
	"triad/internal/run"
	"triad/internal/session"
)

// parseShard parses "I/N"; "" is the whole plan.
func parseShard(text string) (s run.Shard, err error) {
	if text == "" {
		return s, nil
	}
	index, of, ok := strings.Cut(text, "/")
	i, errIndex := strconv.Atoi(index)
	n, errOf := strconv.Atoi(of)
	if !ok || errIndex != nil || errOf != nil || i < 1 || n < i || n > mostShards {
		return s, console.Usage(
			"--shard %q: want I/N, part I of N, with I from 1 to N and N at most %d, e.g. 1/4",
			text,
			mostShards,
		)
	}
	return run.Shard{Index: i, Of: n}, nil
}

// mostShards is more than the machines that a plan is ever cut for.
const mostShards = 100_000

// ShardWords names the part of a plan among the words that decide what is run.
func (o *Options) ShardWords() []string {
	if o.Shard == "" {
		return nil
	}
	return []string{"shard", o.Shard}
}

// CheckPlan refuses flags of a run together with --plan.
func (o *Options) CheckPlan() error {
	if o.PlanOnly && (o.Resume || o.Explain || o.Verbose || o.Strict || o.Dump != "" ||
		o.Against != "" || len(o.Sanitizers) > 0 || o.JUnit != "" || o.GitHub || o.Own.Write) {
		return console.Usage(
			"--plan runs and records nothing: --resume, --explain, --verbose, --strict, --dump, " +
				"--against, --junit, --github, --write and --sanitize are flags of a run")
	}
	return nil
}

// PrintPlan makes the plan of a request and prints it. The implementations are loaded, and built if
// necessary: only a library or an operator file knows what it holds.
func (a *Setup) PrintPlan(ctx context.Context, request run.Request, o SessionOptions,
	plan func(*run.Runner, context.Context, run.Request) (*run.Plan, error),
) error {
	o.GPU.Apply(&request.Options)
	backends, mine, refused, err := a.Participants(ctx, &o.Own, &request, o.GPU, o.EnvironmentFlags,
		o.Workers)
	if err != nil {
		return err
	}
	defer session.CloseAll(backends)
	a.TellMatched(mine, refused, o.JSON)
	request.OnlyPlan = true
	progress := a.Progress()
	p, err := plan(&run.Runner{
		Backends: backends, Progress: progress.Show, Stop: a.Stop, Loading: a.EndsAtOnce,
	}, ctx, request)
	progress.Clear()
	if errors.Is(err, run.ErrStopped) {
		return session.Fail(session.ExitNothing, err)
	}
	if err != nil {
		return err
	}
	cases, err := p.Cases()
	if err != nil {
		return err
	}
	lines := make([]report.PlannedCase, len(cases))
	for i, c := range cases {
		lines[i] = plannedCase(c, request.Seed)
	}
	if o.JSON {
		err = report.PlanJSON(a.Out, lines)
	} else {
		err = report.Plan(a.Out, a.Style(), lines)
	}
	if err == nil && len(refused) > 0 {
		return session.Fail(session.ExitUsage,
			errors.New("the plan lacks the files that were not understood"))
	}
	return err
}

// plannedCase converts a case of a plan to its printed form.
func plannedCase(c run.PlannedCase, seed uint64) report.PlannedCase {
	line := report.PlannedCase{
		Case: c.Case, Key: c.Key(), Seed: seed, Judged: c.Judged, Timed: c.Timed, Moderate: c.Moderate,
		Relations: append([]string{}, c.Relations...), Elements: c.Elements, Bytes: c.Bytes, FLOPs: c.FLOPs,
		Work: c.Work(), Runs: []report.PlannedRun{},
	}
	for _, r := range c.Runs {
		run := report.PlannedRun{
			Impl: r.Impl, Contract: r.Contract, Device: r.Device, Source: r.Source, Launches: r.Launches,
			Message: r.Message,
		}
		if r.Status != op.StatusUnknown {
			run.Status = r.Status.String()
		}
		line.Runs = append(line.Runs, run)
	}
	return line
}
