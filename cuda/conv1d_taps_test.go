package cuda

import (
	"slices"
	"testing"

	"triad/cuda/cudatest"
	"triad/internal/need"
)

// TestConvolvedTaps: conv1d's products for Hopper are right in every order, and likely bugs between rows of
// the batch, parts of a sum and biases are found.
func TestConvolvedTaps(t *testing.T) {
	t.Parallel()
	const own = "sm90_tma.cuh"
	inputs := slices.Concat(cudatest.KernelInputs("conv1d"),
		[]string{"cuda/testdata/emulator/convolved_taps.cu"})
	model := func(t *testing.T, from, to string) string {
		folder := editedKernels(t, "conv1d", own, from, to)
		return newWatched(t, hopperFlags(folder, nil)...).build(t, "convolved_taps.cu")
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
		{"a row of the batch that meets the next one", "a.batch++, b.batch++", "a.batch++"},
		{"places past the end of a row", "step % of_row * TmaTile::k", "step * TmaTile::k"},
		{"every part from the first step on", "step = matrix * steps", "step = 0"},
		{"the bias of the rows above", "bias[part][e / 2]", "bias[part][0]"},
	} {
		t.Run(planted.name, func(t *testing.T) {
			need.Covers(t, "a planted bug", inputs...)
			if out, status := runEmulated(t, "forward", model(t, planted.from, planted.to)); status == 0 {
				t.Errorf("not found:\n%s", out)
			}
		})
	}
}
