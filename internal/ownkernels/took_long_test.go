package ownkernels

import (
	"testing"
	"time"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/tensor"
)

// A call that the emulator or the interpreter does not finish in time is no hang if it may just be slow: with
// many elements, and no finished call of as much work. On a GPU it is one.
func TestTookLong(t *testing.T) {
	const late = "no answer to run within 1m0s and was killed"
	const large, small = 1 << 20, 1 << 8
	for _, c := range []struct {
		path, sentence string
		gpu, kernels   bool
		elements       int64
		usual          time.Duration
		want           op.Status
	}{
		{"a.cu", late, false, false, large, 0, op.StatusUnsupported},
		{"a.cu", late, false, false, small, 0, op.StatusHang},
		{"a.cu", late, false, false, large, time.Second, op.StatusHang},
		{"a.cu", late, true, false, large, 0, op.StatusHang},
		{"a.cu", "no block finished for 10s", false, false, large, 0, op.StatusHang},
		{"a.cu", "it was stopped by a signal during run", false, false, large, 0, op.StatusHang},
		{"a.py", late, false, true, large, 0, op.StatusUnsupported},
		{"a.py", late, false, true, small, 0, op.StatusHang},
		{"a.py", late, false, false, large, 0, op.StatusHang},
	} {
		f := &File{Path: c.path, interpreted: c.kernels}
		f.interpretation.Workers.GPU = c.gpu
		outcome := backend.Outcome{Status: op.StatusHang, Sentence: c.sentence, Usual: c.usual}
		job := backend.Job{Inputs: []tensor.Tensor{tensor.New("x", op.FP32, []int64{c.elements})}}
		if f.tookLong(&outcome, job); outcome.Status != c.want {
			t.Errorf("%+v: %v", c, outcome.Status)
		}
	}
}
