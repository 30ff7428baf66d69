package parallel

import (
	"strings"
	"testing"

	"triad/internal/panics"
)

func TestEveryIndexOnce(t *testing.T) {
	for _, n := range []int{0, 1, 2, 15, 16, 17, 1000, run, run + 1, 5*run + 3} {
		each, runs := make([]int, n), make([]int, n)
		Each(n, func(i int) { each[i]++ })
		Runs(n, func(first, end int) {
			if end-first > run {
				t.Errorf("%d to %d: want at most %d neighbours", first, end, run)
			}
			for i := first; i < end; i++ {
				runs[i]++
			}
		})
		for i := range n {
			if each[i] != 1 || runs[i] != 1 {
				t.Fatalf("of %d, %d: %d and %d calls, want one", n, i, each[i], runs[i])
			}
		}
	}
}

// Memory belongs to one core at a time: the sums of all are the whole.
func TestMemoryIsNotShared(t *testing.T) {
	const n = 100_000
	memories := make(chan *int, n)
	EachWith(n, func() *int { own := new(int); memories <- own; return own },
		func(own *int, _ int) { *own++ })
	close(memories)
	sum := 0
	for own := range memories {
		sum += *own
	}
	if sum != n {
		t.Errorf("%d calls are counted, want %d", sum, n)
	}
}

func TestPanicReachesTheCaller(t *testing.T) {
	defer func() {
		err, _ := recover().(error)
		if e := panics.In(err); e == nil || e.Value != "the middle one" ||
			!strings.Contains(e.Stack[0], "parallel_test.go") {
			t.Errorf("got %+v, want the panic with its stack", e)
		}
	}()
	Each(int64(1000), func(i int64) {
		if i == 500 {
			panic("the middle one")
		}
	})
	t.Error("the panic was lost")
}

func TestFirst(t *testing.T) {
	const n = 5*run + 3
	for _, wanted := range [][]int{nil, {0}, {n - 1}, {4 * run, run + 1, n - 1}, {2*run - 1, 2 * run}} {
		want := -1
		for _, w := range wanted {
			if want < 0 || w < want {
				want = w
			}
		}
		got := First(n, func(first, end int) int {
			for i := first; i < end; i++ {
				for _, w := range wanted {
					if w == i {
						return i
					}
				}
			}
			return -1
		})
		if got != want {
			t.Errorf("the first of %v is %d, want %d", wanted, got, want)
		}
	}
	if got := First(0, func(int, int) int { return -1 }); got != -1 {
		t.Errorf("of nothing: %d, want -1", got)
	}
}
