package cuda

import (
	"testing"

	"triad/cuda/cudatest"
	"triad/internal/need"
)

const attentionOperator = "flash_attention"

// This many of its Hopper loops interleave exponentials with matrix products.
func init() { hopperLoops[attentionOperator] = loopsWanted{exponentials: 12} }

// attentionModel compiles a program with a part of attention's kernels changed by one edit, "" for none.
func attentionModel(t *testing.T, program, part, from, to string, flags ...string) string {
	t.Helper()
	return newWatched(t, hopperFlags(editedKernels(t, attentionOperator, part, from, to), flags)...).
		build(t, program)
}

// uncommitted is the last copy before the loop over queries, which has no turn if there are none.
const uncommitted = "(copies, v_tile, a.v.of(at.batch, at.head), first, s.seq_kv, s.head_dim_v);\n"

// TestAttentionForHopper: under models of wgmma, of the copy engine and of its barriers the kernels for
// Hopper give the same bits as those by mma.sync if no sum is rounded, and zeros for empty sums.
func TestAttentionForHopper(t *testing.T) {
	t.Parallel()
	all := []string{"greedy:1", "reverse", "random:7", "forward"}
	for _, c := range []struct {
		name, key string
		orders    []string
	}{
		{"attention_pipeline.cu", "tiles that the copy engine brings", all},
		{"attention_wgmma.cu", "", []string{"forward", "greedy:1"}},
		{"attention_backward.cu", "", all},
	} {
		t.Run(c.name, func(t *testing.T) {
			need.Covers(t, c.key, attentionInputs(c.name)...)
			program := attentionModel(t, c.name, "sm90_tma.cuh", "", "")
			for _, order := range ordersOf(t, c.name, c.orders) {
				if out, status := runEmulated(t, order, program); status != 0 || out != "ok\n" {
					t.Errorf("order %s: status %d\n%s", order, status, out)
				}
			}
		})
	}
}

// attentionInputs lists the inputs of a model of attention's kernels.
func attentionInputs(program string) []string {
	return append(cudatest.KernelInputs(attentionOperator), "cuda/testdata/emulator/"+program)
}

// TestBugsOfAttentionForHopper: likely bugs of a kernel for Hopper show. Each is compiled separately, for
// seconds: the fast tier has those of TestProductsInTurn and TestHopperZoo.
func TestBugsOfAttentionForHopper(t *testing.T) {
	t.Parallel()
	const tma, wgmma, backward = "sm90_tma.cuh", "sm90_wgmma.cuh", "sm90_tma_backward.cuh"
	const waits = "c.wait_keys();\n\t\t\tc.wait_values();"
	const released = "\n\t\t\tc.release_keys();"
	const dsReady = "hopper::named_sync(Plan::ds_ready, Plan::consumers * Plan::warpgroup);\n"
	const fenced, stored = "hopper::fence_stores();\n\t\t", "hopper::named_arrive(Plan::dq_ready"
	const arrived = "if (part == 0) hopper::barrier_wait(memory + Plan::g_full + 8 * stage, parity);\n"
	const scores = "hopper::wait_for<1>();\n\t\t\thopper::changed(p);"
	for _, planted := range []struct{ name, part, from, to string }{
		{"a panel of another tile's size", wgmma, "d / 64 * PanelB", "d / 64 * PanelA"},
		{
			"keys that are waited for with queries only", wgmma, uncommitted + "\tcopies.commit();",
			uncommitted,
		},
		{"values that are not waited for", tma, waits, "c.wait_keys();"},
		{"keys released while a product reads them", tma, scores + released, released + scores},
		{"sums rescaled while a product changes them", tma, "hopper::wait_after<0>", "hopper::wait_after<1>"},
		{"dS that the other warpgroup need not have stored", backward, dsReady, "\n"},
		{"gradients that are not waited for", backward, arrived, ""},
		{"grad_q stored while it is added", backward, "hopper::sums_wait_read<0>();", ""},
		{"grad_q added with no fence", backward, fenced + stored, stored},
		{"rows beyond the last query that weigh", backward, " || first + Plan::part > s.seq_q", ""},
		{
			"another half of the last columns of grad_q", backward, "+ group * offset",
			"+ (1 - group) * offset",
		},
		{"the mask of another diagonal", backward, "(row) - query", "(row) - query + 1"},
	} {
		program := "attention_pipeline.cu"
		switch planted.part {
		case wgmma:
			program = "attention_wgmma.cu"
		case backward:
			program = "attention_backward.cu"
		}
		t.Run(planted.name, func(t *testing.T) {
			need.Covers(t, "", attentionInputs(program)...)
			edited := attentionModel(t, program, planted.part, planted.from, planted.to, "-DONE_PLAN",
				"-DWIDE_PLAN")
			if out, status := runEmulated(t, "forward", edited); status == 0 {
				t.Errorf("not found:\n%s", out)
			}
		})
	}
}
