package cuda

import (
	"slices"
	"strings"
	"testing"

	"triad/internal/need"
)

// TestGroupsInTurn: products of groups of rows whose consumers take alternating tiles are right in every
// order. Likely bugs at the end of a group, or between those that walk along the groups, are found.
func TestGroupsInTurn(t *testing.T) {
	t.Parallel()
	const pair, halves = "walked_product.cuh", "walked_halves.cuh"
	const ragged, walk = "ragged_map.cuh", "group_walk.cuh"
	inputs := slices.Concat(need.Emulator, need.Operator("grouped_gemm"), []string{
		"cuda/testdata/emulator/grouped_in_turn.cu",
		"cuda/include/group_walk.cuh", "cuda/include/tile_order.cuh",
		"cuda/include/hopper/" + pair, "cuda/include/hopper/" + halves, "cuda/include/hopper/" + ragged,
		"cuda/include/hopper/store_sums.cuh",
	})
	model := func(t *testing.T, part, from, to string, flags ...string) string {
		folder := editedKernels(t, "grouped_gemm", part, from, to)
		return newWatched(t, hopperFlags(folder, flags)...).build(t, "grouped_in_turn.cu")
	}
	t.Run("right", func(t *testing.T) {
		need.Covers(t, "right", inputs...)
		program := model(t, pair, "", "")
		for _, order := range []string{"forward", "greedy:1", "reverse", "random:7"} {
			if out, status := runEmulated(t, order, program); status != 0 || out != "ok\n" {
				t.Errorf("in order %s: status %d\n%s", order, status, out)
			}
		}
	})
	// The product whose rows the groups cut, and the one whose sum.
	const rows, sums, together = "-DTILE=InTurn -DPLAN=0", "-DTILE=InTurn -DPLAN=2", "-DTILE=Together -DPLAN=0"
	const readers = "Tile::together ? Tile::consumers : 1"
	const others, own = "skip(others_steps)", "skip(place.steps)"
	const within, beyond = "(tile < up_to) return true; // in", "(tile <= up_to) return true; // in"
	const warp, lane = "(threadIdx.x < 32) produce", "(threadIdx.x == 0) produce"
	for _, planted := range []struct{ name, part, from, to, plan string }{
		{"the next group's rows in a sum", ragged, "ragged_rows, columns", "ragged_rows + 64, columns", sums},
		{"a group's rows from one too late", ragged, "rows - size)", "rows + 1 - size)", rows},
		{"rows written past the end of a group", halves, "at.rows, columns", "at.rows + 8, columns", rows},
		{"no step for a group without rows", "sm90_tma.cuh", "k), int64_t{1})", "k), int64_t{0})", sums},
		{"a consumer that skips as many stages as its own tile has", pair, others, own, sums},
		{"a walk that ends a group too late", walk, within, beyond, rows},
		{"blocks of a cluster that bring the same rows", pair, "rank * Tile::own_a", "0", rows},
		{"stages that a consumer without rows keeps", pair, "release(at.stage);", "", together},
		{"a consumer that multiplies the other one's rows", pair, "(first_row + part", "(part", together},
		{"stages handed back by one consumer of two", pair, readers, "1", together},
		{"a producer that walks alone", pair, warp, lane, rows},
	} {
		t.Run(planted.name, func(t *testing.T) {
			need.Covers(t, "a planted bug", inputs...)
			program := model(t, planted.part, planted.from, planted.to, strings.Fields(planted.plan)...)
			if out, status := runEmulated(t, "forward", program); status == 0 {
				t.Errorf("not found:\n%s", out)
			}
		})
	}
}
