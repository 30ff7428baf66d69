package problem

import (
	"context"
	"runtime"
)

// atOnce is how many problems are described at the same time.
func atOnce() int { return min(max(runtime.NumCPU(), 1), mostInspectors/2) }

// inOrder works on n things, several at the same time, and takes their results in order until take returns an
// error or ctx ends. Little work is done ahead of what was taken.
func inOrder[T any](ctx context.Context, n int, work func(context.Context, int) T, take func(int, T) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	begun := make(chan chan T, atOnce()-1)
	go func() {
		defer close(begun)
		for i := range n {
			result := make(chan T, 1)
			select {
			case begun <- result:
			case <-ctx.Done():
				return
			}
			go func() { result <- work(ctx, i) }()
		}
	}()
	i := 0
	for result := range begun {
		if ctx.Err() != nil {
			break
		}
		if err := take(i, <-result); err != nil {
			return err
		}
		i++
	}
	return context.Cause(ctx)
}

// Outcome is what became of a problem: it was imported, or there is no operator for a reason.
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
