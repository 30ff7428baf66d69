package kernelfile

import "slices"

// positionNames lists common names of the tensor with the position of each token; the first four are plural.
var positionNames = []string{
	"positions", "position_ids", "pos_ids", "token_positions", "input_pos", "position", "pos", "pos_id",
}

// fillPositions says of room to work in that it holds the position of each token: 0, 1 and so on.
const fillPositions = "positions"

// takePositions takes a pointer to integers that no tensor of the operator is, and whose name says that it
// has the position of each token, where the operator counts these from 0.
func (b *Binding) takePositions() {
	for i := range b.Args {
		a := &b.Args[i]
		if b.Spec.Own.Positions == "" || !a.Pointer || a.tensor || a.Role != Nothing ||
			!slices.Contains(integerTypes, a.Base) || !slices.Contains(positionNames, scratchWord(a.Name)) {
			continue
		}
		// one position alone may be that of a sequence's first token
		a.takeRoom(formOf{fill: fillPositions, told: slices.Contains(positionNames[:4], scratchWord(a.Name))})
		a.Target = "the position of each token"
	}
}
