package cuda

import "testing"

// checkFewRows: an operator's products of few rows, whose reduction the blocks of a cluster divide, are right
// in every order, and planted bugs are found. Of `part` nothing is changed.
func checkFewRows(t *testing.T, operator, part string, bugs []plantedInProduct, flags ...string) {
	t.Helper()
	productModel{
		operator: operator, program: "few_rows.cu", part: part, flags: flags, oneOrder: true,
		inputs: []string{
			"cuda/include/hopper/few_rows.cuh", "cuda/include/hopper/cluster.cuh",
			"cuda/include/wgmma_tile.cuh", "cuda/include/quad.cuh",
		},
	}.check(t, bugs)
}
