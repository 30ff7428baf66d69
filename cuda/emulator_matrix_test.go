package cuda

import "testing"

// TestEmulatorMatrices: the warp's matrix instructions compute every element, under all orders; of
// asynchronous copies, a missing wait, a missing barrier, a buffer that is still being read and a copy that
// no wait covers show in every order.
func TestEmulatorMatrices(t *testing.T) {
	t.Parallel()
	program := newWatched(t, "-I"+emulatorFolder, "-Iinclude", "-I.").build(t, "matrix.cu")
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

// hopperFlags returns flags with which a program includes a folder of edited kernels, and more.
func hopperFlags(folder string, flags []string) []string {
	return append(flags, "-I"+folder, "-I"+emulatorFolder, "-Iinclude", "-I.")
}
