package problem

import (
	"context"
	"runtime"

	"triad/internal/panics"
)

// mostAtOnce is the maximum number of problems that are described at the same time.
const mostAtOnce = 32

func atOnce() int { return min(max(runtime.NumCPU(), 1), mostAtOnce) }

// inOrder works on n things, several at the same time, and takes their results in order until take returns an
// error or ctx ends. Little work is done ahead of what was taken.
func inOrder[T any](ctx context.Context, n int, work func(context.Context, int) T,
	take func(int, T) error,
) error {
	ctx, stop := context.WithCancel(ctx)
	type result struct {
		value T
		err   error
	}
	results := make([]chan result, n) // of what has begun and was not taken
	defer func() {                    // no work goes on after the return
		stop()
		for _, r := range results {
			if r != nil {
				<-r
			}
		}
	}()
	begin := func(i int) {
		if i >= n || ctx.Err() != nil {
			return
		}
		found := make(chan result, 1)
		results[i] = found
		panics.Go(func() { found <- result{value: work(ctx, i)} },
			func(err error) { found <- result{err: err} })
	}
	ahead := atOnce()
	for i := range min(n, ahead) {
		begin(i)
	}
	for i := range n {
		if results[i] == nil || ctx.Err() != nil {
			break
		}
		r := <-results[i]
		results[i] = nil
		begin(i + ahead)
		if r.err != nil {
			return r.err
		}
		if err := take(i, r.value); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// Outcome is the result of importing a problem: an operator, or the reason why there is none.
type Outcome struct {
	Done *Imported
	Err  error
}

// ImportAll imports problems, several at the same time, and tells their outcomes in order. It ends with the
// first error of tell or of ctx.
func ImportAll(ctx context.Context, found []Problem, into string, describe Describe,
	tell func(Problem, Outcome) error,
) error {
	return inOrder(ctx, len(found), func(ctx context.Context, i int) Outcome {
		done, err := Import(ctx, found[i], into, describe)
		return Outcome{done, err}
	}, func(i int, o Outcome) error { return tell(found[i], o) })
}
