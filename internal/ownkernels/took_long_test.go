package ownkernels

import (
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
)

// What the emulator does not end in time is no hang, unless no block finishes. On a GPU it is one.
func TestTookLong(t *testing.T) {
	const late = "no answer to run within 1m0s and was killed"
	for _, c := range []struct {
		path, sentence string
		gpu, kernels   bool
		want           op.Status
	}{
		{"a.cu", late, false, false, op.StatusUnsupported},
		{"a.cu", late, true, false, op.StatusHang},
		{"a.cu", "no block finished for 10s", false, false, op.StatusHang},
		{"a.py", late, false, true, op.StatusUnsupported},
		{"a.py", late, false, false, op.StatusHang},
	} {
		f := &File{Path: c.path, interpreted: c.kernels}
		f.reading.Workers.GPU = c.gpu
		outcome := backend.Outcome{Status: op.StatusHang, Sentence: c.sentence}
		if f.tookLong(&outcome); outcome.Status != c.want {
			t.Errorf("%+v: %v", c, outcome.Status)
		}
	}
}
