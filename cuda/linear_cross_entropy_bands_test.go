package cuda

import (
	"slices"
	"testing"

	"triad/cuda/cudatest"
	"triad/internal/need"
)

// TestGradientBands: the gradients of linear_cross_entropy, of the same pipeline, are right in every order
// where the classes need several bands, and likely bugs between bands and tokens are found.
func TestGradientBands(t *testing.T) {
	t.Parallel()
	const backward = "sm90_tma_backward.cuh"
	inputs := slices.Concat(cudatest.KernelInputs("linear_cross_entropy"),
		[]string{"cuda/testdata/emulator/gradient_bands.cu"})
	model := func(t *testing.T, from, to string) string {
		folder := editedKernels(t, "linear_cross_entropy", backward, from, to)
		return newWatched(t, hopperFlags(folder, nil)...).build(t, "gradient_bands.cu")
	}
	t.Run("right", func(t *testing.T) {
		need.Covers(t, "right", inputs...)
		program := model(t, "", "")
		for _, order := range []string{"forward", "greedy:1", "reverse", "random:7"} {
			if out, status := runEmulated(t, order, program); status != 0 || out != "ok\n" {
				t.Errorf("in order %s: status %d\n%s", order, status, out)
			}
		}
	})
	for _, planted := range []struct{ name, from, to string }{
		{"sums of dhidden of the last band alone", "first == 0, ends}", "true, ends}"},
		{"sums of dhidden that no band rounds", "first == 0, ends}", "first == 0, false}"},
		{"targets as if there were one band", "- of.first - at.col", "- at.col"},
		{"an ignored token in dweight", "at.hidden,\n", "hidden.data,\n"},
		{"an ignored token's gradient", "target == ignored ? 0.0f : ", ""},
		{"weight from the first band on", "first * weight.row_stride", "0"},
	} {
		t.Run(planted.name, func(t *testing.T) {
			need.Covers(t, "a planted bug", inputs...)
			if out, status := runEmulated(t, "forward", model(t, planted.from, planted.to)); status == 0 {
				t.Errorf("not found:\n%s", out)
			}
		})
	}
}
