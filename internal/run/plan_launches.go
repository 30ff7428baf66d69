package run

import (
	"fmt"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/tensor"
)

// In addition to judging every case, a gradcheck launches one moderate case of each operator and dtype this
// often, so that a sum whose order varies shows, and makes rows that go through autograd compute each
// gradient alone.
const (
	gradientLaunches     = 5
	gradientLaunchesFull = 250
)

// moderateElements is the largest number of elements of all tensors of a moderate case together.
const moderateElements = 1 << 15

// markModerate chooses the moderate case of each operator and dtype: ordinary data, chained if that costs
// little size, and the largest that still counts as moderate.
func markModerate(planned []work) error {
	best := map[string]int{}
	size := map[string]int64{}
	for i, w := range planned {
		if w.Pass != op.Backward || w.Distribution != "normal" || w.Layout != "contiguous" ||
			w.Upstream != "normal" {
			continue
		}
		elements, _, err := w.operator.Spec.Footprint(w.Case)
		if err != nil {
			return err
		}
		key := w.Op + " " + w.DType
		at, seen := best[key]
		if !seen || moderate(elements, w.Case) > moderate(size[key], planned[at].Case) {
			best[key], size[key] = i, elements
		}
	}
	for _, i := range best {
		planned[i].moderate = true
	}
	return nil
}

// moderate ranks a case. A larger one within the bound is better, and so is a chained one, since rows that
// recompute take part in no other; beyond the bound a smaller one is better.
func moderate(elements int64, c op.Case) int64 {
	switch {
	case elements > moderateElements:
		return -elements
	case c.Saved == "driver":
		return elements / 4
	default:
		return elements
	}
}

// launches returns the launches of one job of a case: those of every run, on a moderate case the additional
// ones of a gradcheck, and one into ordinary numbers if the case has it.
func (w work) launches(device string, level op.Level) []backend.LaunchPlan {
	plan := launches(device, level)
	for n := len(plan); n < w.fewestLaunches(level); n++ {
		next := backend.LaunchPlan{Poison: [2]string{"a", "b"}[n%2]}
		if device == "emulator" {
			next.Order = fmt.Sprintf("%s:%d", [2]string{"random", "greedy"}[n%2], n+1)
		}
		plan = append(plan, next)
	}
	if w.ordinary { // in the first order, so that a difference from it depends only on the memory
		plan = append(plan, backend.LaunchPlan{Poison: tensor.Ordinary, Order: plan[0].Order})
	}
	return plan
}

// fewestLaunches returns the least number of launches of a gradcheck on a case; 0 where it asks for none.
func (w work) fewestLaunches(level op.Level) int {
	switch {
	case !w.moderate:
		return 0
	case level == op.LevelFull:
		return gradientLaunchesFull
	default:
		return gradientLaunches
	}
}

// launches returns the launches of one job. The emulator runs other schedule orders, so that a race shows as
// different bits, and places buffers at either end of readable memory, so that an access outside of one
// shows. Every device gets both poisons, so that unwritten elements show.
func launches(device string, level op.Level) []backend.LaunchPlan {
	if device != "emulator" {
		return []backend.LaunchPlan{{Poison: "a"}, {Poison: "b"}}
	}
	plan := []backend.LaunchPlan{
		{Poison: "a", Order: "forward"},
		{Poison: "b", Order: "greedy:1", Place: backend.PlaceBegin},
		{Poison: "a", Order: "greedy:2"},
		{Poison: "b", Order: "greedy:3", Place: backend.PlaceBegin},
	}
	if level == op.LevelFull {
		plan = append(plan, backend.LaunchPlan{Poison: "a", Order: backend.OrderReverse}, backend.LaunchPlan{
			Poison: "b", Order: "random:1", Place: backend.PlaceBegin,
		})
	}
	return plan
}
