package cuda

import (
	"strings"
	"testing"

	"triad/cuda/cudatest"
	"triad/internal/need"
)

// clusterOperator is the operator with rows in clusters.
const clusterOperator = "softmax"

// clusterProgram compiles softmax_cluster.cu with the kernel changed by one edit, "" for none. The next call
// replaces the program.
func clusterProgram(t *testing.T, e *emulated, from, to string) string {
	t.Helper()
	return e.buildWithKernels(t, "softmax_cluster.cu", editedKernels(t, "softmax", "cluster.cuh", from, to))
}

// TestSoftmaxCluster: rows spread over clusters of 2 to 16 blocks have the formula's values in every order;
// sums that are merged before they arrive, sent to a block that has not started, or placed where another
// block's belong, show.
func TestSoftmaxCluster(t *testing.T) {
	t.Parallel()
	t.Run("right", func(t *testing.T) {
		need.Covers(t, "rows in clusters", cudatest.KernelInputs(clusterOperator)...)
		program := clusterProgram(t, newEmulated(t, "g++", "-O1"), "", "")
		for _, order := range ordersOf(t, "right", []string{"forward", "reverse", "greedy:1"}) {
			if out, status := runEmulated(t, order, program); status != 0 || out != "right\n" {
				t.Errorf("order %s: status %d\n%s", order, status, out)
			}
		}
	})
	for _, planted := range []struct{ name, key, from, to string }{
		{"sums merged before they came", "a wait left out", "\t\tinbox.wait();\n", ""},
		{
			"sums sent to a block that has not begun", "a wait left out",
			"\t\thopper::cluster_wait();\n", "",
		},
		{"sums in another block's slots", "", "hopper::cluster_rank() * warps + warp", "warp"},
	} {
		t.Run(planted.name, func(t *testing.T) {
			need.Covers(t, planted.key, cudatest.KernelInputs(clusterOperator)...)
			program := clusterProgram(t, newEmulated(t, "g++", "-O1"), planted.from, planted.to)
			if out, status := runEmulated(t, "random:1", program, "short"); status == 0 {
				t.Errorf("it does not show:\n%s", out)
			}
		})
	}
}

// TestSoftmaxClusterRaces: an inbox orders a send before the wait for it; without the wait ThreadSanitizer
// reports a race.
func TestSoftmaxClusterRaces(t *testing.T) {
	need.Covers(t, "", cudatest.KernelInputs(clusterOperator)...)
	t.Parallel()
	e := newEmulated(t, "g++", "-O1", "-fsanitize=thread")
	out, status := runEmulated(t, "greedy:1", clusterProgram(t, e, "", ""), "short")
	if status != 0 || out != "right\n" {
		t.Errorf("status %d\n%s", status, out)
	}
	out, status = runEmulated(t, "forward", clusterProgram(t, e, "\t\tinbox.wait();\n", ""), "short")
	if status == 0 || !strings.Contains(out, "ThreadSanitizer: data race") {
		t.Errorf("without a wait: status %d, want a data race in\n%s", status, out)
	}
}
