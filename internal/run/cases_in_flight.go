package run

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"triad/internal/backend"
	"triad/internal/record"
)

// lanesOf returns how many jobs the backends judge side by side beyond one for each.
func lanesOf(backends []backend.Backend) int {
	lanes := 0
	for _, b := range backends {
		if s, ok := backend.As[spreading](b); ok {
			lanes += s.Lanes()
		}
	}
	return lanes
}

// together ends the workers that judge side by side: nothing else holds the device's memory while something
// is timed.
func together(backends []backend.Backend) {
	for _, b := range backends {
		if s, ok := backend.As[spreading](b); ok {
			s.Together()
		}
	}
}

// The number of cases under way at once: in all, or for each lane where jobs are judged side by side. On a
// CPU a few cases wait for the slowest family, such as torch while it compiles, and the others go on with the
// next cases, even of the next operator.
const (
	inFlightAlone = 8
	inFlightALane = 4
	// A case takes another place for this many elements of its tensors, but at most half of all places: this
	// limits the memory in use, and large cases to two at a time.
	elementsAPlace      = 1 << 22
	elementsAPlaceAlone = 1 << 20
	// this many jobs of a family run at once: more would only compete for the cores
	abreastAlone = 2
)

// places returns how many cases may be under way at once.
func (x *execution) places() int {
	if x.request.InFlight > 0 {
		return x.request.InFlight
	}
	return max(inFlightAlone, inFlightALane*x.lanes)
}

// placesOf returns how many of the places a case takes.
func (x *execution) placesOf(w work, most int) int {
	elements, _, err := w.operator.Spec.Footprint(w.Case)
	if err != nil {
		return 1
	}
	each := int64(elementsAPlaceAlone)
	if x.lanes > 0 {
		each = elementsAPlace
	}
	return int(min(1+elements/each, max(1, int64(most)/2)))
}

// abreast waits until a job of a family may run; over ends it. Where jobs are spread over workers, the
// workers are the limit.
func (x *execution) abreast(e entry) (over func()) {
	if x.lanes > 0 {
		return func() {}
	}
	family := familyOf(e.implementation)
	x.mu.Lock()
	if x.families == nil {
		x.families = map[string]chan struct{}{}
	}
	running := x.families[family]
	if running == nil {
		running = make(chan struct{}, abreastAlone)
		x.families[family] = running
	}
	x.mu.Unlock()
	running <- struct{}{}
	return func() { <-running }
}

// familyOf returns the family of an implementation: the language or library that it is written in.
func familyOf(i backend.Implementation) string {
	family, _, _ := strings.Cut(i.Name, "/")
	return family
}

// inOrder sorts the records into the order of the plan.
func (r *Result) inOrder(planned []work) {
	at, row := map[string]int{}, map[string]int{}
	for i, w := range planned {
		at[w.Key()] = i
		for k, e := range w.entries {
			row[w.Key()+" "+e.implementation.Name] = k
		}
	}
	type placed struct {
		record.Record
		at, row int
	}
	all := make([]placed, len(r.Records))
	for i, kept := range r.Records {
		key := kept.Case.Key()
		all[i] = placed{kept, at[key], row[key+" "+kept.Impl]}
	}
	slices.SortStableFunc(all, func(a, b placed) int { return cmp.Or(a.at-b.at, a.row-b.row) })
	for i, kept := range all {
		r.Records[i] = kept.Record
	}
}

// interleaved takes the cases of every operator and pass in turn, in their order: what is judged side by side
// is then not all of one implementation, whose jobs wait for each other.
func interleaved(planned []work) []work {
	groups := map[string][]work{}
	var order []string
	for _, w := range planned {
		key := fmt.Sprint(w.Op, " ", w.Pass)
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], w)
	}
	var all []work
	for n := 0; len(all) < len(planned); n++ {
		for _, key := range order {
			if n < len(groups[key]) {
				all = append(all, groups[key][n])
			}
		}
	}
	return all
}

// lanes groups entries that would wait for each other anyway: those of one family run one after the other, in
// order. On a GPU each entry is its own lane: while one is judged, which takes the host longer than its call
// took the GPU, its worker runs the next.
func lanes(entries []entry) [][]int {
	var order []string
	byLane := map[string][]int{}
	for i, e := range entries {
		lane := familyOf(e.implementation)
		if e.implementation.Device == "gpu" {
			lane = e.implementation.Name
		}
		if byLane[lane] == nil {
			order = append(order, lane)
		}
		byLane[lane] = append(byLane[lane], i)
	}
	out := make([][]int, len(order))
	for i, lane := range order {
		out[i] = byLane[lane]
	}
	return out
}
