package sanitize

import (
	"context"
	"errors"
	"fmt"

	"triad/internal/machine"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/run"
	"triad/internal/runsetup"
	"triad/internal/session"
	"triad/internal/worker"
)

// chooseWatched narrows a request to what a tool must see, since a tool makes a kernel 10 to 100 times
// slower: the fewest calls that launch every compiled kernel, on whole vectors and on ragged rows. A survey
// without a tool finds them. A user who chooses cases gets those, and the survey is empty.
func (a *runner) chooseWatched(ctx context.Context, request *run.Request, g machine.GPU, o *runsetup.Options,
	options worker.Options,
) (run.Survey, error) {
	if o.Full || o.Quick || len(request.Options.Dims)+len(o.Distribution)+len(o.Layout)+len(o.Upstream)+
		len(o.Saved) > 0 {
		if !o.Full {
			request.Options.Level = op.LevelQuick
		}
		return run.Survey{}, nil
	}
	*request = run.EveryKernel(*request)
	g.Apart = true
	asked := *request
	backends, _, _, err := a.Participants(ctx, &o.Own, &asked, &g, o.EnvironmentFlags, options)
	if err != nil {
		return run.Survey{}, err
	}
	progress := a.Progress()
	progress.Show(run.Progress{Text: "asking which kernels the calls launch"})
	survey, err := (&run.Runner{Backends: backends, Stop: a.Stop}).Survey(ctx, asked)
	for _, b := range backends {
		err = errors.Join(err, b.Close())
	}
	progress.Clear()
	if err != nil {
		return survey, fmt.Errorf("choose the cases for the tools: %w", err)
	}
	cover, err := survey.Watchable()
	if err != nil {
		return survey, session.Fail(session.ExitNothing, fmt.Errorf("--sanitize: %w", err))
	}
	keep := map[string]bool{}
	for _, r := range cover {
		keep[r.Case.Key()+" "+r.Impl] = true
	}
	request.Keep = func(c op.Case, implementation string) bool { return keep[c.Key()+" "+implementation] }
	return survey, nil
}

// cover determines which compiled kernels ran under the tool, from a survey of the calls that did.
func (s *sanitized) cover(survey run.Survey, records []record.Record) {
	ran, reached := map[string]bool{}, map[string]bool{}
	for _, r := range records {
		if r.Launches > 0 {
			ran[r.Case.Key()+" "+r.Impl] = true
		}
	}
	watched := map[string]bool{}
	for _, r := range survey.Reached {
		for _, k := range r.Kernels {
			reached[k] = true
			watched[k] = watched[k] || ran[r.Case.Key()+" "+r.Impl]
		}
	}
	if len(reached) == 0 {
		return
	}
	for _, k := range survey.Built {
		switch {
		case watched[k]:
			s.Watched++
		case reached[k]:
			s.Missed = append(s.Missed, k)
		default:
			s.Beyond = append(s.Beyond, k)
		}
	}
}
