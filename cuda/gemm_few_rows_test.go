package cuda

import "testing"

// TestGemmOfFewRows: likely bugs between producer, consumers and blocks of a product of few rows are found.
func TestGemmOfFewRows(t *testing.T) {
	t.Parallel()
	const rows, none = "few_rows.cuh", "-DALL"
	const own = "\t\t\t\t\tif (from != rank) {"
	checkFewRows(t, "gemm", "sm90_tma.cuh", []plantedInProduct{
		{"sums read while a product changes them", rows, "\t\twait_for<0>();\n", "", none},
		{"stages released while they are read", rows, "\t\t\t\twait_for<1>();\n", "", none},
		{"stages handed back by one warp", rows, "Tile::workers / 32); // one", "1); // one", none},
		{"sums read before they have come", rows, "\t\t\tblock.inbox()->wait();\n", "", none},
		{"a block that adds up its own sums alone", rows, own, "\t\t\t\t\tif (false) {", none},
		{"stages that are asked for twice", rows, "\t\tat.skip(asked());\n", "", none},
	})
}
