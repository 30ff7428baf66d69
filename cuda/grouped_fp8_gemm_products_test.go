package cuda

import "testing"

// This many of its Hopper loops have 8-bit products.
func init() { hopperLoops["grouped_fp8_gemm"] = loopsWanted{scaled: 1} }

// TestGroupedFP8Products: products of groups of fp8 rows on Hopper are right in every order. Likely bugs at
// the end of a group, in what belongs to a group, and between the warps that walk along the groups are found.
func TestGroupedFP8Products(t *testing.T) {
	t.Parallel()
	const kernel, groups, blocks = "wgmma.cuh", "groups.cuh", "wgmma_blocks.cuh"
	productModel{
		operator: "grouped_fp8_gemm", program: "grouped_fp8_products.cu", part: kernel,
		inputs: []string{
			"cuda/include/group_walk.cuh", "cuda/include/tile_order.cuh", "cuda/include/wgmma_tile.cuh",
			"cuda/kernels/fp8_gemm", "cuda/include/hopper/head_map.cuh",
			"cuda/include/hopper/store_sums.cuh",
		},
	}.check(t, []plantedInProduct{
		{"rows written past the end of a group", kernel, "of.m = end;", "of.m = end + 8;", ""},
		{"tiles that begin where the first group does", kernel, "row = first + ", "row = ", ""},
		{"the first group's matrix for all", kernel, "0, group, full", "0, 0, full", ""},
		{"the first group's scales for all", groups, "p.scale_b.scale += g * scale_step;", "", ""},
		{"the last rows of a group not copied", kernel, "(rows + GroupWork::few_rows - 1)", "rows", ""},
		{"boxes of few rows over each other", kernel, " + i * box_bytes,", ",", ""},
		{"stages that a consumer without rows keeps", kernel, "else own.pass(k_blocks);", "", ""},
		{"a consumer that passes without its place", blocks, "\t\tlast = next;\n", "", ""},
		{"factors of the tile before", kernel, "if (more) factors = factors_of();", "", ""},
		{"sums read while a product changes them", blocks, "\t\thopper::wait<Pending>(part);\n", "", ""},
		{"a producer that walks alone", kernel, "x < 32) produce", "x == 0) produce", ""},
	})
}
