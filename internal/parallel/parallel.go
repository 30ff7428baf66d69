// Package parallel shares independent work among the cores. Every piece of work writes results of its own, so
// that nothing depends on their order. A panic in one of them becomes a panic of the caller, which may
// recover from it.
package parallel

import (
	"runtime"
	"sync/atomic"

	"triad/internal/panics"
)

// Each calls work for 0 <= i < n, in runs of neighbours, so that work on the same memory pages stays
// together, and work that costs more towards one end (causal rows) is still shared evenly.
func Each[I int | int64](n I, work func(i I)) {
	EachWith(n, func() struct{} { return struct{}{} }, func(_ struct{}, i I) { work(i) })
}

// EachWith is Each with working memory: each core has its own, used for one i after the other.
func EachWith[I int | int64, S any](n I, memory func() S, work func(own S, i I)) {
	cores := int64(runtime.GOMAXPROCS(0))
	size := max(1, int64(n)/(min(int64(n), cores)*16+1))
	shared(int64(n), size, memory, func(own S, first, end int64) {
		for i := first; i < end; i++ {
			work(own, I(i))
		}
	})
}

// run is the number of neighbours that Runs hands out at once: if each takes nanoseconds, fewer are not worth
// a core of their own.
const run = 1 << 16

// Runs calls work for runs of neighbours that together cover 0 <= i < n; if n is small, once for all of them.
func Runs(n int, work func(first, end int)) {
	if n <= run {
		work(0, n)
		return
	}
	shared(int64(n), run,
		func() struct{} { return struct{}{} },
		func(_ struct{}, first, end int64) { work(int(first), int(end)) })
}

// First returns the smallest index that find finds in runs of neighbours that together cover 0 <= i < n, or
// -1. find returns the first index of its run, or -1. Runs beyond a found index are skipped.
func First(n int, find func(first, end int) int) int {
	var least atomic.Int64
	least.Store(int64(n))
	Runs(n, func(first, end int) {
		if int64(first) >= least.Load() {
			return
		}
		at := int64(find(first, end))
		for known := least.Load(); at >= 0 && at < known; known = least.Load() {
			if least.CompareAndSwap(known, at) {
				return
			}
		}
	})
	if at := int(least.Load()); at < n {
		return at
	}
	return -1
}

// shared hands out runs of the numbers below n to as many goroutines as there are cores.
func shared[S any](n, size int64, memory func() S, work func(own S, first, end int64)) {
	var next atomic.Int64
	var broken atomic.Bool
	var group panics.Group
	for range min((n+size-1)/size, int64(runtime.GOMAXPROCS(0))) {
		group.Go(func() {
			whole := false
			defer func() {
				if !whole { // it panics: the others need not go on
					broken.Store(true)
				}
			}()
			own := memory()
			for first := next.Add(size) - size; first < n && !broken.Load(); first = next.Add(size) - size {
				work(own, first, min(first+size, n))
			}
			whole = true
		})
	}
	if err := group.Wait(); err != nil {
		panic(err)
	}
}
