package judge

import "triad/internal/op"

// Truth is what one case must give under one contract: an entry for every output of the pass, in the order of the spec.
type Truth struct {
	Contract string
	Outputs  []Target
}

// Target is the truth of one output, for all its elements in row-major order, or for those that Index names (their row-major positions,
// rising) where the case is judged by sample. R is the fp64 truth from the exact inputs, T the allowance for the error inside the kernel
// under the contract (T >= 0, without the final rounding), TFP32 the same with every low-precision rounding point removed, Sim the fp64
// mathematics rounded at the declared points only, the last being DType.
type Target struct {
	Name     string
	DType    op.DType
	Shape    []int64
	Index    []int64 // nil: every element
	R, T     []float64
	TFP32    []float64
	Sim      []float64
	Saturate bool // overflow gives the largest finite number
	FTZ      bool // results below 2^-126 may be flushed to zero (fp32, bf16)
}
