package cuda

import "testing"

// TestInt8GemmOfFewRows: likely bugs in how columns are turned round, and in what zero points take off, are
// found. FEW_ROWS leaves out the large tiles.
func TestInt8GemmOfFewRows(t *testing.T) {
	t.Parallel()
	const turned, large, few = "wgmma_parts.cuh", "sm90_wgmma.cuh", "wgmma_few_rows.cuh"
	const all, some = "-DALL", "-DFEW_ROWS"
	const finished, met = "\t\thopper::wait_for<0>();\n", "\t\thopper::named_sync(1, FewRows"
	const depth = "min(end * depth, k) - min(begin * depth, k)"
	checkFewRows(t, "int8_gemm", large, []plantedInProduct{
		{"columns in a wrong order", turned, "lane % 4 >= 2", "false", some},
		{"rows of another chunk", turned, "% lanes * chunks + i", "% lanes + i", some},
		{"columns overwritten while a product reads them", few, finished, "", some},
		{"sums of rows that others have not written", few, met, "\t\t(void)(FewRows", some},
		{"terms of the whole reduction in each part", few, depth, "k", some},
		{"products that no wait covers", large, "\t\t" + finished, "", all},
	}, "-DINT8")
}
