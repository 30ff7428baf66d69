package cuda

import (
	"slices"
	"testing"

	"triad/internal/need"
)

// plantedInRows is a bug of a product of few rows: in which part, and what stands there instead.
type plantedInRows struct{ name, part, from, to, flags string }

// checkFewRows: an operator's products of few rows, whose reduction the blocks of a cluster divide, are right
// in every order, and planted bugs are found. Of `part` nothing is changed.
func checkFewRows(t *testing.T, operator, part string, bugs []plantedInRows, flags ...string) {
	t.Helper()
	inputs := slices.Concat(need.Emulator, need.Operator(operator), []string{
		"cuda/testdata/emulator/few_rows.cu",
		"cuda/include/hopper/few_rows.cuh", "cuda/include/hopper/cluster.cuh",
		"cuda/include/wgmma_tile.cuh", "cuda/include/quad.cuh",
	})
	model := func(t *testing.T, part, from, to string, more ...string) string {
		folder := editedKernels(t, operator, part, from, to)
		return newWatched(t, hopperFlags(folder, slices.Concat(flags, more))...).build(t, "few_rows.cu")
	}
	t.Run("right", func(t *testing.T) {
		need.Covers(t, "right", inputs...)
		program := model(t, part, "", "")
		orders := []string{"forward", "greedy:1", "reverse", "random:7"}
		for _, order := range ordersOf(t, operator, orders) {
			if out, status := runEmulated(t, order, program); status != 0 || out != "ok\n" {
				t.Errorf("in order %s: status %d\n%s", order, status, out)
			}
		}
	})
	for _, planted := range bugs {
		t.Run(planted.name, func(t *testing.T) {
			need.Covers(t, "a planted bug", inputs...)
			program := model(t, planted.part, planted.from, planted.to, planted.flags)
			if out, status := runEmulated(t, "forward", program); status == 0 {
				t.Errorf("not found:\n%s", out)
			}
		})
	}
}
