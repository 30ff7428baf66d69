package ownkernels

import (
	"fmt"
	"math"

	"triad/internal/backend"
	"triad/internal/tensor"
)

// Inputs of a function of ints lie within mostInteger, and there are so few of them that no sum of their
// products overflows an int. If the operator has its own integers they lie within mostOfKinds: only the ends
// of a total are that large, or nothing is multiplied.
const (
	mostInteger  = 8
	mostOfKinds  = 1 << 13
	mostElements = 1 << 22
)

// notIntegers returns the answer of a function of ints for other numbers.
func notIntegers(most float64) string {
	return fmt.Sprintf("its tensors are ints: it is judged on integers from -%v to %v, in tensors of up to "+
		"%d elements", most, most, mostElements)
}

// wantsIntegers returns the largest integer that the function of a job is called with, if it takes ints and
// the operator has floats, else 0.
func (f *File) wantsIntegers(job backend.Job) float64 {
	for _, b := range f.Bindings {
		if b.Pass == job.Implementation.Pass && b.Distributions() != nil {
			if b.Spec.Check.Integers != "" {
				return mostOfKinds
			}
			return mostInteger
		}
	}
	return 0
}

// areIntegers reports whether all numbers of some tensors are small integers, and none is -0, which an int
// lacks.
func areIntegers(inputs []tensor.Tensor, most float64) bool {
	for _, t := range inputs {
		if t.Elements() > mostElements {
			return false
		}
		for _, v := range tensor.Decode(t.DType, t.Data) {
			if v != math.Trunc(v) || math.Abs(v) > most || v == 0 && math.Signbit(v) {
				return false
			}
		}
	}
	return true
}
