package cuda

import (
	"testing"

	"triad/cuda/cudatest"
	"triad/internal/need"
)

// TestTopKThreshold: a bound from the threads' best entries leaves the k best of a row, whatever its order;
// further launches choose among those of its parts. Likely bugs of the bound, of the entries that are left
// and of the launches show.
func TestTopKThreshold(t *testing.T) {
	t.Parallel()
	model := func(t *testing.T, from, to string) string {
		return newEmulated(t, "g++", "-O1").buildWithKernels(t, "top_k_threshold.cu",
			editedKernels(t, "top_k", "best.cuh", from, to))
	}
	t.Run("right", func(t *testing.T) {
		need.Covers(t, "right", cudatest.KernelInputs("top_k")...)
		program := model(t, "", "")
		for _, order := range ordersOf(t, "right", []string{"forward", "reverse", "greedy:1"}) {
			if out, status := runEmulated(t, order, program); status != 0 || out != "right\n" {
				t.Errorf("order %s: status %d\n%s", order, status, out)
			}
		}
	})
	for _, planted := range []struct{ name, key, from, to string }{
		{"more entries than find room", "a bound", "n > most_ranked)", "false)"},
		{"a bound that k entries do not reach", "", "if (reach < k) continue;", "if (reach == 0) continue;"},
		{"columns of the first part in all", "", " - static_cast<uint32_t>(begin)", ""},
		{"entries that were never written", "", "if (threadIdx.x < V) found[n", "if (false) found[n"},
		{"a launch that reads what the one before read", "", "turn = 1 - turn", "turn = 1"},
	} {
		t.Run(planted.name, func(t *testing.T) {
			need.Covers(t, planted.key, cudatest.KernelInputs("top_k")...)
			if out, status := runEmulated(t, "forward", model(t, planted.from, planted.to)); status == 0 {
				t.Errorf("it does not show:\n%s", out)
			}
		})
	}
}
