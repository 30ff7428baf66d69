package kernelfile

import (
	"slices"

	"triad/internal/ownfile/cfacts"
)

// positionNames lists common names of the tensor with the position of each token; the first four are plural.
var positionNames = []string{
	"positions", "position_ids", "pos_ids", "token_positions", "input_pos", "position", "pos", "pos_id",
}

// takePositions takes a pointer to integers that stands for no tensor of the operator and is named like the
// positions of tokens, if the operator counts these from 0.
func (b *Binding) takePositions() {
	for i := range b.Args {
		a := &b.Args[i]
		if b.Spec.Own.Positions == "" || !a.Pointer || a.TorchTensor || a.Role != Nothing ||
			!slices.Contains(cfacts.IntegerTypes, a.Base) ||
			!slices.Contains(positionNames, scratchWord(a.Name)) {
			continue
		}
		// a single position may be that of a sequence's first token
		a.takeRoom(adapterOf{fill: fillCounted, stated: slices.Contains(positionNames[:4],
			scratchWord(a.Name))})
		a.Target = "the position of each token"
	}
}
