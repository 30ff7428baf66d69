package cuda

import (
	"path/filepath"
	"testing"
)

// TestEmulatorMatrices: the warp's matrix instructions give every element, under all orders; of asynchronous copies, a missing wait, a missing
// barrier, a buffer that is still being read and a copy that no wait covers show in every order.
func TestEmulatorMatrices(t *testing.T) {
	t.Parallel()
	program := newEmulated(t, "g++", "-O1", "-Iinclude", "-I.").build(t, "matrix.cu")
	for _, order := range allOrders {
		for _, right := range []string{"products", "copies"} {
			if out, status := runEmulated(t, order, program, right); status != 0 || out != "ok\n" {
				t.Errorf("%s in order %s: status %d\n%s", right, order, status, out)
			}
		}
		for _, planted := range []string{"no_wait", "no_barrier", "one_buffer", "no_commit", "no_last_wait"} {
			if out, status := runEmulated(t, order, program, planted); status == 0 {
				t.Errorf("%s in order %s was not found:\n%s", planted, order, out)
			}
		}
	}
}

// wgmmaModel compiles attention_wgmma.cu with the kernels changed by one edit, "" for none.
func wgmmaModel(t *testing.T, from, to string) string {
	t.Helper()
	folder := editedKernels(t, "flash_attention", "sm90_wgmma.cuh", from, to)
	model := filepath.Join(emulatorTests, "wgmma")
	flags := []string{"-O1", "-D__CUDA_ARCH_FEAT_SM90_ALL", "-I" + folder, "-I" + model, "-Iinclude", "-I."}
	return newEmulated(t, "g++", flags...).build(t, "attention_wgmma.cu")
}

// The last copy before the loop over queries, which has no turn where there are none.
const uncommitted = "(copies, v_tile, a.v.of(at.batch, at.head), first, s.seq_kv, s.head_dim);\n"

// TestAttentionForHopper: under a model of wgmma the kernels for Hopper give the bits of those by mma.sync, where no sum is rounded, and zeros
// where there is nothing to sum; an offset that is wrong and a copy that no wait covers show.
func TestAttentionForHopper(t *testing.T) {
	t.Parallel()
	program := wgmmaModel(t, "", "")
	for _, order := range []string{"forward", "greedy:1"} {
		if out, status := runEmulated(t, order, program); status != 0 || out != "ok\n" {
			t.Errorf("order %s: status %d\n%s", order, status, out)
		}
	}
	for name, edit := range map[string][2]string{
		"a panel of another tile's size":                        {"d / 64 * PanelB", "d / 64 * PanelA"},
		"keys and values that are waited for with queries only": {uncommitted + "\tcopies.commit();", uncommitted},
	} {
		if out, status := runEmulated(t, "forward", wgmmaModel(t, edit[0], edit[1])); status == 0 {
			t.Errorf("%s: not found:\n%s", name, out)
		}
	}
}
