package problem

import (
	"slices"

	"triad/internal/backend"
	"triad/internal/op"
)

// place names the part of a call that holds the value of a constant of the problem's file: a size of an
// input, or an attribute.
type place struct {
	Input     int    `json:"input"`
	Axis      int    `json:"axis"`
	Attribute string `json:"attribute"`
}

// Makes reports whether the format itself makes a call: a forward of dense tensors, each at a multiple of 16
// bytes, at the problem's own sizes, or those of its tests. A submission must answer it.
func (p *Plan) Makes(job backend.Job) bool {
	if job.Implementation.Pass != op.Forward {
		return false
	}
	for _, t := range job.Inputs {
		if !t.IsContiguous() || t.Offset*t.DType.Size()%16 != 0 {
			return false
		}
	}
	return p.at(p.Own, job) || slices.ContainsFunc(p.Tests, func(sizes map[string]float64) bool {
		return p.at(sizes, job)
	})
}

// at reports whether a call is of these sizes.
func (p *Plan) at(sizes map[string]float64, job backend.Job) bool {
	for constant, size := range sizes {
		at, known := p.Constants[constant]
		if !known || at.value(job) != size {
			return false
		}
	}
	return true
}

// value returns the value at a place of a call; -1 if the call has no such place.
func (at place) value(job backend.Job) float64 {
	if at.Attribute != "" {
		for _, a := range job.Attrs {
			if a.Name == at.Attribute {
				return a.Number
			}
		}
		return -1
	}
	if at.Input >= len(job.Inputs) || at.Axis >= len(job.Inputs[at.Input].Shape) {
		return -1
	}
	return float64(job.Inputs[at.Input].Shape[at.Axis])
}
