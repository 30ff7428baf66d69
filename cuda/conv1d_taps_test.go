package cuda

import "testing"

// TestConvolvedTaps: conv1d's products for Hopper are right in every order, and likely bugs between rows of
// the batch, parts of a sum and biases are found.
func TestConvolvedTaps(t *testing.T) {
	t.Parallel()
	const own = "sm90_tma.cuh"
	productModel{operator: "conv1d", program: "convolved_taps.cu", part: own}.check(t, []plantedInProduct{
		{"a row of the batch that meets the next one", own, "a.batch++, b.batch++", "a.batch++", ""},
		{"places past the end of a row", own, "step % of_row * TmaTile::k", "step * TmaTile::k", ""},
		{"every part from the first step on", own, "step = matrix * steps", "step = 0", ""},
		{"the bias of the rows above", own, "bias[part][e / 2]", "bias[part][0]", ""},
	})
}
