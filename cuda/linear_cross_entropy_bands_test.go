package cuda

import "testing"

// TestGradientBands: the gradients of linear_cross_entropy, of the same pipeline, are right in every order
// where the classes need several bands, and likely bugs between bands and tokens are found.
func TestGradientBands(t *testing.T) {
	t.Parallel()
	const backward = "sm90_tma_backward.cuh"
	productModel{
		operator: "linear_cross_entropy", program: "gradient_bands.cu", part: backward,
	}.check(t, []plantedInProduct{
		{"sums of dhidden of the last band alone", backward, "first == 0, ends}", "true, ends}", ""},
		{"sums of dhidden that no band rounds", backward, "first == 0, ends}", "first == 0, false}", ""},
		{"targets as if there were one band", backward, "- of.first - at.col", "- at.col", ""},
		{"an ignored token in dweight", backward, "at.hidden,\n", "hidden.data,\n", ""},
		{"an ignored token's gradient", backward, "target == ignored ? 0.0f : ", "", ""},
		{"weight from the first band on", backward, "first * weight.row_stride", "0", ""},
	})
}
