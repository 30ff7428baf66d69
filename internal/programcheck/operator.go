package programcheck

import (
	"context"
	"fmt"
	"os"
	"time"

	"triad/internal/backend"
	"triad/internal/catalog"
	"triad/internal/check"
	"triad/internal/op"
	"triad/internal/run"
	"triad/internal/session"
	"triad/internal/truth"
	"triad/internal/watched"
	"triad/internal/worker"
)

// isOperator reports whether a word names an operator of the catalog and no file.
func isOperator(word string) bool {
	if _, err := os.Stat(word); err == nil {
		return false
	}
	_, err := catalog.Find(word)
	return err == nil
}

// checkOperator checks every CUDA kernel of an operator, and notes those with wrong results.
func (a *checker) checkOperator(ctx context.Context, name string, o *Options) (*check.Report, error) {
	operator, err := truth.Find(name)
	if err != nil {
		return nil, err
	}
	cache, err := a.CacheDir()
	if err != nil {
		return nil, err
	}
	options := op.Options{Level: op.LevelQuick}
	chosen, err := watched.CasesToWatch(operator.Spec, options)
	if err != nil {
		return nil, err
	}
	kernels := a.CUDABackend(cache, worker.Options{Limits: worker.DefaultLimits})
	defer kernels.Close()
	watched := watched.NewBackend(kernels, watched.NewCalls(a.ProgramBuilder, o.Limits))
	runner := &run.Runner{Backends: []backend.Backend{watched}, Recorder: run.Discard{}, Stop: ctx}
	began := time.Now()
	result, err := runner.Compare(ctx, run.Request{
		Operators: []*truth.Operator{operator}, Options: options, Seed: 1, Single: true,
		Impls: kernels.Families(),
		Keep:  func(c op.Case, _ string) bool { return chosen[c.Key()] },
	})
	if err != nil {
		return nil, err
	}
	if len(result.Unavailable) > 0 {
		return nil, session.Fail(session.ExitNothing, fmt.Errorf("check: %s", result.Unavailable[0]))
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	found := &watched.Found
	for _, r := range result.Records {
		if r.Status.Weight() == op.Bad {
			found.Notes = append(
				found.Notes,
				fmt.Sprintf("%s %v %s is %v: %s", r.Impl, r.Case.Pass, r.Case.DType,
					r.Status, r.Message),
			)
		}
	}
	fmt.Fprintf(a.Err, "%d calls of the CUDA kernels of %s were watched in %v.\n", watched.Ran, name,
		time.Since(began).Round(time.Second))
	return found, nil
}
