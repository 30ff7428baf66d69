package ownkernels

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"triad/cuda/build"
	"triad/internal/backend"
	"triad/internal/fileversion"
	"triad/internal/kernelfile"
	"triad/internal/op"
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

// endsForSizes makes an outcome neutral in which a host function ended the process, if its lines do so for
// unsupported sizes, or if nothing is to be written: CUDA refuses a launch of no blocks, and a check after it
// ends the process.
func (f *File) endsForSizes(outcome *backend.Outcome, empty bool) {
	if outcome.Status != op.StatusCrash || f.IsPython() || !strings.HasPrefix(outcome.Sentence, "exited ") {
		return
	}
	if !empty && !slices.ContainsFunc(f.Bindings, (*kernelfile.Binding).EndsForSizes) {
		return
	}
	outcome.Status = op.StatusUnsupported
	if empty { // its earlier output may be about another call
		outcome.Sentence = "on empty tensors it ends the process: return first where a size is 0"
		return
	}
	_, said, printed := strings.Cut(outcome.Sentence, "it last printed: ")
	outcome.Sentence = "it ends the process for these sizes"
	if printed {
		outcome.Sentence += ": " + said
	}
}

// newerCPP finds features that C++17 lacks: headers, names of the library, concepts and requires clauses.
var newerCPP = regexp.MustCompile(
	`(?m)^\s*#\s*include\s*<(?:bit|compare|concepts|format|numbers|ranges|source_location|span|` +
		`stop_token)>|` +
		`\bstd::(?:bit_cast|bit_ceil|bit_floor|bit_width|convertible_to|countl_zero|countr_zero|` +
		`floating_point|has_single_bit|integral|invocable|jthread|lerp|midpoint|numbers|popcount|ranges|` +
		`remove_cvref_t|same_as|signed_integral|source_location|span|ssize|unsigned_integral)\b|` +
		`^\s*(?:template\s*<[^;{}]*>\s*)?(?:concept\s+\w+\s*=|requires\b)`)

// foundFlags returns the flags of a file, followed by those that its text and its repository imply.
func foundFlags(path string, text []byte, flags []string) []string {
	flags = slices.Concat(flags, nearHeaders(path, text, flags))
	return slices.Concat(flags, newerStandard(path, text, flags))
}

// newerStandard returns the flag for a file that is not C++17, in its own text or in what it includes; the
// default for nvcc is C++17.
func newerStandard(path string, text []byte, flags []string) []string {
	if slices.ContainsFunc(flags, func(f string) bool { return strings.HasPrefix(f, "-std=") }) {
		return nil
	}
	newer := newerCPP.Match(text)
	for _, header := range fileversion.Included(path, build.HeaderFolders(flags)) {
		newer = newer || newerCPP.Match(header.Text)
	}
	if !newer {
		return nil
	}
	return []string{"-std=c++20"}
}
