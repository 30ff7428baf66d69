package watched

import (
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/tensor"
)

// TestLargestCalls: calls as large as one before are not watched again, nor are smaller ones.
func TestLargestCalls(t *testing.T) {
	w := NewBackend(nil, nil)
	of := func(shapes ...[]int64) (job backend.Job) {
		for _, shape := range shapes {
			job.Inputs = append(job.Inputs, tensor.Tensor{DType: op.FP32, Shape: shape})
		}
		return job
	}
	for i, call := range []struct {
		job  backend.Job
		want bool
	}{
		{of(), true},
		{of(), false},
		{of([]int64{2, 3}), true},
		{of([]int64{3, 2}), false},
		{of([]int64{1, 5}), false},
		{of([]int64{2, 3}, []int64{1}), true},
	} {
		if got := w.grows(call.job); got != call.want {
			t.Errorf("call %d is watched: %v, want %v", i, got, call.want)
		}
	}
}
