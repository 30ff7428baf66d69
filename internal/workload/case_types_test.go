package workload

import (
	"slices"
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
)

// checkTypes compares the tensors of a case with its spec's declarations, and their layout in memory with the
// case's.
func checkTypes(t *testing.T, s *op.Spec, c op.Case, list []tensor.Tensor) {
	t.Helper()
	var want []op.TensorType
	if c.Pass == op.Forward || len(s.Backward.Tensors) > 0 {
		want, _ = s.Inputs(c)
	} else {
		in, _ := s.ForwardInputs(c)
		up, _ := s.Upstream(c)
		want = append(in, up...)
	}
	if len(list) != len(want) {
		t.Fatalf("%s %v: %d tensors, want %d", s.Name, c, len(list), len(want))
	}
	strided, upstream, most := false, false, int64(0)
	for i, x := range list {
		if x.Name != want[i].Name || x.DType != want[i].DType || !slices.Equal(x.Shape, want[i].Shape) {
			t.Fatalf("%s %v: %s %s %v, want %s %s %v", s.Name, c, x.Name, x.DType, x.Shape, want[i].Name,
				want[i].DType, want[i].Shape)
		}
		is := !x.IsContiguous() || x.Offset != 0
		if c.Pass == op.Backward && strings.HasPrefix(x.Name, "grad_") {
			upstream, most = upstream || is, max(most, x.Elements())
		} else {
			strided = strided || is
		}
	}
	otherwise := slices.Contains(s.UpstreamLayouts(), c.Upstream)
	if strided = strided || upstream && !otherwise; strided != (c.Layout != "contiguous") {
		t.Errorf("%s %v: layout %s, strided %t", s.Name, c.Dims, c.Layout, strided)
	}
	if otherwise && !upstream && most > 1 {
		t.Errorf("%s %v: the upstream gradients are contiguous, want them %s", s.Name, c.Dims, c.Upstream)
	}
}
