package ownkernels

import (
	"slices"
	"strings"

	"triad/internal/backend"
	"triad/internal/kernelfile"
	"triad/internal/op"
)

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
