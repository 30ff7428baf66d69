package cuda

import (
	"slices"
	"testing"

	"triad/internal/need"
)

// TestFewRows: products whose reduction the blocks of a cluster divide are right in every order, of bf16 and
// of int8. Likely bugs between producer, consumers and blocks are found, and in how int8's columns are
// turned.
func TestFewRows(t *testing.T) {
	t.Parallel()
	const rows, turned = "few_rows.cuh", "wgmma_parts.cuh"
	const few, large = "wgmma_few_rows.cuh", "sm90_wgmma.cuh"
	const gemm, int8 = "gemm", "int8_gemm"
	inputs := slices.Concat(need.Emulator, need.Operator(gemm), need.Operator(int8), []string{
		"cuda/testdata/emulator/few_rows.cu",
		"cuda/include/hopper/" + rows, "cuda/include/hopper/cluster.cuh",
		"cuda/include/wgmma_tile.cuh", "cuda/include/quad.cuh",
	})
	model := func(t *testing.T, operator, part, from, to string, flags ...string) string {
		folder := editedKernels(t, operator, part, from, to)
		if operator == int8 {
			flags = append(flags, "-DINT8")
		}
		return newWatched(t, hopperFlags(folder, flags)...).build(t, "few_rows.cu")
	}
	for operator, part := range map[string]string{gemm: "sm90_tma.cuh", int8: large} {
		t.Run(operator, func(t *testing.T) {
			need.Covers(t, operator, inputs...)
			program := model(t, operator, part, "", "")
			orders := []string{"forward", "greedy:1", "reverse", "random:7"}
			for _, order := range ordersOf(t, operator, orders) {
				if out, status := runEmulated(t, order, program); status != 0 || out != "ok\n" {
					t.Errorf("in order %s: status %d\n%s", order, status, out)
				}
			}
		})
	}
	const own, swapped = "\t\t\t\t\tif (from != rank) {", "lane % 4 >= 2"
	const finished, bytes = "\t\thopper::wait_for<0>();\n", "* (Splits - 1) * Tile::chunk_bytes : 0"
	const met, depth = "\t\thopper::named_sync(1, FewRows", "min(end * depth, k) - min(begin * depth, k)"
	for _, planted := range []struct{ name, operator, part, from, to string }{
		{"sums read while a product changes them", gemm, rows, "\t\twait_for<0>();\n", ""},
		{"stages released while they are read", gemm, rows, "\t\t\t\twait_for<1>();\n", ""},
		{"stages handed back by one warp", gemm, rows, "Tile::workers / 32); // one", "1); // one"},
		{"sums read before they have come", gemm, rows, "\t\t\tblock.inbox()->wait();\n", ""},
		{"a block that adds up its own sums alone", gemm, rows, own, "\t\t\t\t\tif (false) {"},
		{"bytes of one chunk too few", gemm, rows, bytes, "* Tile::chunk_bytes / 2 : 0"},
		{"columns in a wrong order", int8, turned, swapped, "false"},
		{"rows of another chunk", int8, turned, "% lanes * chunks + i", "% lanes + i"},
		{"columns overwritten while a product reads them", int8, few, finished, ""},
		{"sums of rows that others have not written", int8, few, met, "\t\t(void)(FewRows"},
		{"terms of the whole reduction in each part", int8, few, depth, "k"},
		{"products that no wait covers", int8, large, "\t\t" + finished, ""},
	} {
		t.Run(planted.name, func(t *testing.T) {
			need.Covers(t, "a planted bug", inputs...)
			flags := []string{}
			if planted.part == few {
				flags = append(flags, "-DFEW_ROWS")
			}
			program := model(t, planted.operator, planted.part, planted.from, planted.to, flags...)
			if out, status := runEmulated(t, "forward", program); status == 0 {
				t.Errorf("not found:\n%s", out)
			}
		})
	}
}
