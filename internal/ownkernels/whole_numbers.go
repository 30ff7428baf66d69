package ownkernels

import (
	"math"

	"triad/internal/backend"
	"triad/internal/tensor"
)

// Numbers that a function of ints is called with lie within mostWhole, and there are so few of them that
// no sum of their products leaves the ints.
const (
	mostWhole    = 8
	mostElements = 1 << 22
)

// notWhole is the answer of a function of ints for other numbers.
const notWhole = "its tensors are ints: it is judged on whole numbers from -8 to 8, in tensors of up to " +
	"4194304 elements"

// wantsWhole says whether the function of a job takes ints where the operator has floats.
func (f *File) wantsWhole(job backend.Job) bool {
	for _, b := range f.Bindings {
		if b.Pass == job.Implementation.Pass && b.Distributions() != nil {
			return true
		}
	}
	return false
}

// areWhole says whether all numbers of some tensors are whole and small, and none is -0, which an int has
// not.
func areWhole(inputs []tensor.Tensor) bool {
	for _, t := range inputs {
		if t.Elements() > mostElements {
			return false
		}
		for _, v := range tensor.Decode(t.DType, t.Data) {
			if v != math.Trunc(v) || math.Abs(v) > mostWhole || v == 0 && math.Signbit(v) {
				return false
			}
		}
	}
	return true
}
