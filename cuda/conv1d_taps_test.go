package cuda

import (
	"slices"
	"testing"

	"triad/cuda/cudatest"
	"triad/internal/need"
)

// TestConvolvedTaps: conv1d's products of one tap after the other are right in every order, and likely bugs
// between taps, rows of the batch and parts of a sum are found.
func TestConvolvedTaps(t *testing.T) {
	t.Parallel()
	const own = "sm90_tma.cuh"
	inputs := slices.Concat(cudatest.KernelInputs("conv1d"), []string{"cuda/testdata/emulator/convolved_taps.cu"})
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
		{"every tap meets the same places", "a.head += down, b.column++", "a.head += down"},
		{"channels that run on into the next tap", "k = b.row = 0, a.head", "b.row = 0, a.head"},
		{"taps that are not turned round in grad_x", "work.head = Turned ? taps - 1 : 0", "work.head = 0"},
		{"a row of the batch that meets the next one", "a.batch++, b.batch++", "a.batch++"},
		{"every part from the first step on", "step = matrix * steps", "step = 0"},
		{"one part of a sum alone", "sums[part * all + i]", "sums[i]"},
	} {
		t.Run(planted.name, func(t *testing.T) {
			need.Covers(t, "a planted bug", inputs...)
			if out, status := runEmulated(t, "forward", model(t, planted.from, planted.to)); status == 0 {
				t.Errorf("not found:\n%s", out)
			}
		})
	}
}
