package cuda

import (
	"testing"

	"triad/cuda/cudatest"
	"triad/internal/need"
)

// This many of its Hopper loops have 8-bit products.
func init() { hopperLoops["fp8_gemm"] = loopsWanted{scaled: 12} }

// TestProductsInTurn: the product whose consumers take alternating tiles is right in every order, and likely
// bugs between producer, consumers and epilogue show.
func TestProductsInTurn(t *testing.T) {
	t.Parallel()
	const pair, fast = "pair_product.cuh", "sm90_tma_fast.cuh"
	model := func(t *testing.T, part, from, to string, flags ...string) string {
		folder := editedKernels(t, "fp8_gemm", part, from, to)
		return newWatched(t, hopperFlags(folder, flags)...).build(t, "product_in_turn.cu")
	}
	t.Run("right", func(t *testing.T) {
		need.Covers(t, "tiles in turn", cudatest.KernelInputs("fp8_gemm")...)
		program := model(t, pair, "", "")
		for _, order := range ordersOf(t, "right", []string{"forward", "greedy:1", "reverse", "random:7"}) {
			if out, status := runEmulated(t, order, program); status != 0 || out != "ok\n" {
				t.Errorf("in order %s: status %d\n%s", order, status, out)
			}
		}
	})
	const finished = "\t\twait_for<0>();\n"
	const turn = "\t\tnamed_sync(turn_of(consumer), both);\n"
	for _, planted := range []struct{ name, part, from, to string }{
		{"a consumer that does not wait for its turn", pair, turn, ""},
		{"a consumer that takes the other one's stages", pair, "\t\tat.skip(work.steps); // of", "\t\t// of"},
		{"sums read while a product changes them", pair, finished, ""},
		{"stages released while they are read", pair, "\t\t\t\twait_for<1>();\n", ""},
		{"stages that the other block's producer fills", pair, "4 * Tile::cluster)", "4)"},
		{"scales that other threads have not fetched", fast, "hopper::named_sync(barrier", "(void)(barrier"},
		{"scales of which a thread's own are under way", fast, "\t\tcopies.wait<0>();\n", ""},
		{"the next tile's scales over this one's", fast, "\t\tturn ^= 1;\n", ""},
	} {
		t.Run(planted.name, func(t *testing.T) {
			key := ""
			if planted.from == turn {
				key = "a wait left out"
			}
			need.Covers(t, key, cudatest.KernelInputs("fp8_gemm")...)
			edited := model(t, planted.part, planted.from, planted.to, "-DONE_PLAN")
			if out, status := runEmulated(t, "forward", edited); status == 0 {
				t.Errorf("not found:\n%s", out)
			}
		})
	}
}
