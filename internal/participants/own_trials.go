package participants

import (
	"context"
	"time"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/ownfile/trial"
	"triad/internal/ownkernels"
	"triad/internal/panics"
	"triad/internal/run"
)

// settle settles by trials how the files are read. Nothing of a trial is kept: the first Ctrl-C ends it.
func (a *Source) settle(ctx context.Context, files []*ownkernels.File, r run.Request, d time.Duration) error {
	ctx, done := a.UntilInterrupt(ctx)
	defer done()
	t := trial.Trials{Spec: r.Operators[0].Spec, Asked: r.Options, Limit: d, Judge: a.judgeTrial(ctx, r)}
	return t.Settle(files)
}

// judgeTrial returns the port through which trials of added files reach a run.
func (a *Source) judgeTrial(ctx context.Context, request run.Request) trial.Judge {
	request.Single, request.Timing = true, nil
	request.Explain, request.Gradients, request.Before = false, false, nil
	return func(b backend.Backend, impl string, o op.Options, enough bool) (judged trial.Judged) {
		request := request
		request.Impls, request.Options = []string{impl}, o
		result, err := run.Unrecorded(ctx, a.Stop, b, request, enough)
		for _, spent := range result.Spent {
			if spent.On == "loading" {
				judged.Loading = append(judged.Loading, spent.Time)
			}
		}
		if judged.Records = result.Records; panics.In(err) != nil {
			judged.Fault = err
		}
		return judged
	}
}
