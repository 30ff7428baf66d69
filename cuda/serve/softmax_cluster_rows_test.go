package serve

import (
	"strings"
	"testing"

	"triad"
	"triad/cuda/cudatest"
	"triad/internal/backend"
	"triad/internal/op"
)

// clusterOperator is the operator with rows in clusters. Its library is built in every run.
const clusterOperator = "softmax"

// TestSoftmaxClusterRows: a grid has 2^31 - 1 blocks, and a cluster up to 16 of them; one row more than fits
// is refused with a sentence.
func TestSoftmaxClusterRows(t *testing.T) {
	cudatest.NeedCompiler(t)
	_, kernels, err := (&server{
		device: NewEmulator(triad.Files, testCache),
		specs:  catalogSpec,
	}).open(t.Context(), "softmax")
	if err != nil {
		t.Fatal(err)
	}
	const most = 134217727
	asked := 0
	for _, k := range kernels {
		if k.Name != "cuda/sm90_cluster" {
			continue
		}
		asked++
		for _, rows := range []int64{most, most + 1} {
			x := op.TensorType{Name: "x", DType: op.BF16, Shape: []int64{rows, 8}}
			in, out := describedAs([]op.TensorType{x, x}), describedAs([]op.TensorType{x})
			if k.Pass == op.Forward {
				in = in[:1]
			}
			why, ok, err := acceptsSomewhere(k, in, out)
			if err != nil || ok != (rows == most) || !ok &&
				!strings.Contains(why, "rows 134217728 is more than 134217727") {
				t.Errorf("%s, %d rows: %t %q %v", k.Pass, rows, ok, why, err)
			}
		}
	}
	if asked != 2 {
		t.Errorf("%d passes are asked, want 2", asked)
	}
}

// acceptsSomewhere asks a kernel whether it takes tensors without memory.
func acceptsSomewhere(k *kernel, in, out []backend.TensorRef) (string, bool, error) {
	call := newCall(k, nil, in, out)
	defer call.free()
	for i := range call.in {
		place(&call.in[i], 1<<20)
	}
	for i := range call.out {
		place(&call.out[i], 1<<20)
	}
	return call.accepts()
}
