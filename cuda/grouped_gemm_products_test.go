package cuda

import "testing"

// TestGroupedProducts: products of groups of rows on Hopper are right in every order. Likely bugs at the end
// of a group, between the blocks of a cluster and between those that walk along the groups are found.
func TestGroupedProducts(t *testing.T) {
	t.Parallel()
	const walked, halves = "walked_product.cuh", "walked_halves.cuh"
	const ragged, walk = "ragged_map.cuh", "group_walk.cuh"
	// The product whose rows the groups cut, with the tiles of a cluster below each other and side by side,
	// and the one whose sum they cut.
	const below, beside = "-DTILE=Below -DPRODUCT=0", "-DTILE=Beside -DPRODUCT=0"
	const sums = "-DTILE=Below -DPRODUCT=2"
	const within, beyond = "(tile < up_to) return true; // in", "(tile <= up_to) return true; // in"
	const other, same = "stage + first_row * tile_row_bytes", "stage"
	const warp, lane = "(threadIdx.x < 32) produce", "(threadIdx.x == 0) produce"
	productModel{
		operator: "grouped_gemm", program: "grouped_products.cu", part: walked,
		inputs: []string{
			"cuda/include/group_walk.cuh", "cuda/include/tile_order.cuh",
			"cuda/include/hopper/" + walked, "cuda/include/hopper/" + halves, "cuda/include/hopper/" + ragged,
			"cuda/include/hopper/store_sums.cuh",
		},
	}.check(t, []plantedInProduct{
		{"the next group's rows in a sum", ragged, "ragged_rows, columns", "ragged_rows + 64, columns", sums},
		{"a group's rows from one too late", ragged, "rows - size)", "rows + 1 - size)", beside},
		{"rows written past the end of a group", halves, "at.rows, columns", "at.rows + 8, columns", beside},
		{"no step for a group without rows", "sm90_tma.cuh", "/ Tile::k, 1)", "/ Tile::k, 0)", sums},
		{"a walk that ends a group too late", walk, within, beyond, beside},
		{"blocks of a cluster that bring the same rows", walked, "rank * Tile::own_a", "0", beside},
		{"blocks of a cluster that bring the same columns", walked, "rank * Tile::own_b", "0", below},
		{"stages that a consumer without rows keeps", walked, "release(at.stage);", "", below},
		{"a consumer that multiplies the other one's rows", walked, other, same, below},
		{"stages handed back by one consumer of two", walked, "Tile::consumers * 4", "4", below},
		{"a producer that walks alone", walked, warp, lane, beside},
	})
}
