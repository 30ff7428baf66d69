package cuda

import (
	"testing"

	"triad/cuda/cudatest"
	"triad/internal/need"
)

// TestLatentParts: sequences of every length are divided into even parts, or into whole ones, and joined
// again. Likely bugs of the parts, of their places in the workspace and of the join show.
func TestLatentParts(t *testing.T) {
	t.Parallel()
	const operator = "mla_decode"
	model := func(t *testing.T, from, to string) string {
		return newEmulated(t, "g++", "-O1").buildWithKernels(t, "latent_parts.cu",
			editedKernels(t, operator, "sm90_schedule.cuh", from, to))
	}
	t.Run("right", func(t *testing.T) {
		need.Covers(t, "right", cudatest.KernelInputs(operator)...)
		program := model(t, "", "")
		if out, status := runEmulated(t, "forward", program); status != 0 || out != "right\n" {
			t.Errorf("status %d\n%s", status, out)
		}
	})
	for _, planted := range []struct{ name, key, from, to string }{
		{"a part without its last unit", "a bound", "(part + 1) - first;", "(part + 1) - first - 1;"},
		{"parts of one size", "", "p * share + p * rest / parts", "p * share"},
		{
			"the last of many sequences", "",
			"static_cast<int>((a.batch + warp_size - 1) / warp_size)", "1",
		},
		{"a sequence begun before is begun again", "", "left > 0 ? first - start : 0", "0"},
		{"a sequence's own first unit is a pair of pages", "", "2 * (end - 1),", "2 * end,"},
		{"what goes on lies where what was begun does", "a place", "skipped > 0 ? 0 :", "skipped > 0 ? 1 :"},
		{"equal sequences are cut", "", "&& even <= share + spared_units", "&& false"},
		{"sequences are whole whatever their lengths", "", "__all_sync(all_lanes, same) && even", "even"},
		{"whole sequences whatever that costs", "", "&& even <= share + spared_units", ""},
		{"the part after the last", "a cut", "* parts - 1) / all", "* parts) / all"},
		{"a part with the first unit alone", "", "end - start > 1 ? part : part + 1", "part"},
		{"the first part's place", "", "(part == begun)", "0"},
		{"no sequence was cut", "", "after <= end ?", "after <= end + all ?"},
		{"parts that weigh the same", "a join", "expf(s.max[from] - base(max))", "1.0f"},
		{"the largest of 32 parts", "", "p += warp_size) max", "p += 1 << 20) max"},
		{"the last part left out", "", "first; p <= cut.last; p++", "first; p < cut.last; p++"},
		{"the rows of the first group", "", "row / own_rows) +", "0) +"},
	} {
		t.Run(planted.name, func(t *testing.T) {
			need.Covers(t, planted.key, cudatest.KernelInputs(operator)...)
			if out, status := runEmulated(t, "forward", model(t, planted.from, planted.to)); status == 0 {
				t.Errorf("it does not show:\n%s", out)
			}
		})
	}
}
