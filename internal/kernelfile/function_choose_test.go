package kernelfile

import (
	"testing"

	"triad/internal/op"
)

func TestABackwardIsFoundByItsName(t *testing.T) {
	text := `extern "C" void softmax_forward(const float* x, float* y, int rows, int cols) {}
extern "C" void softmax_backward(const float* y, const float* dy, float* dx, int rows, int cols) {}`
	all, err := Bind(ReadCUDA(text), Request{}, spec(t, "softmax"), []op.Pass{op.Forward, op.Backward},
		Options{})
	if err != nil || len(all) != 2 {
		t.Fatal(all, err)
	}
	if got, want := all[1].Matched(),
		"y is y, dy is grad_y, dx is grad_x, rows is rows, cols is cols"; got != want {
		t.Errorf("matched %q, want %q", got, want)
	}
}
