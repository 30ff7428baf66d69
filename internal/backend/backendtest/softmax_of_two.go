package backendtest

import (
	"math"

	"triad/internal/backend"
	"triad/internal/tensor"
)

// SoftmaxOfTwo returns the outcome of a right softmax of rows with two columns.
func SoftmaxOfTwo(job backend.Job) backend.Outcome {
	var outcome backend.Outcome
	for _, plan := range job.Launches {
		y := tensor.New("y", job.Outputs[0].DType, job.Outputs[0].Shape)
		x := job.Inputs[0].Float64s()
		out := make([]float64, len(x))
		for i := range x {
			out[i] = 1 / (1 + math.Exp(x[i^1]-x[i]))
		}
		y.SetFloat64s(out)
		outcome.Launches = append(outcome.Launches, backend.LaunchOutcome{
			Plan: plan,
			Outputs: []backend.Output{{
				Tensor: y,
				OutputRef: backend.OutputRef{
					Name: "y", Present: true, DType: y.DType.String(), Shape: y.Shape,
					Stride: y.Stride,
				},
			}},
		})
	}
	return outcome
}
