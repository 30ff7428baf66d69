package record

import "triad/internal/op"

// Statistics are the figures that a verdict keeps of an output, so that it can be decided again when a
// constant of the judge changes. The output itself is not kept.
type Statistics struct {
	Contract    string   `json:"contract"`    // the one that the output was judged under
	Promise     string   `json:"promise"`     // and what that says, in words
	Digest      string   `json:"digest"`      // of the output's bytes
	DType       op.DType `json:"dtype"`       // of the output
	Saturates   bool     `json:"saturates"`   // overflow gives the largest finite number
	Flushes     bool     `json:"flushes"`     // results below 2^-126 may become zero
	Exact       bool     `json:"exact"`       // T is 0 everywhere
	Bits        bool     `json:"bits"`        // bits are compared: -0 is not +0
	Independent bool     `json:"independent"` // G4 and G5 are asked
	// largest |y - R| / (T + half an ulp of y): the inverse of error margin
	Used Float `json:"used"`
	// how many errors are at most half an ulp, 1, 2, 4 ... ulps; the last: larger
	ULPs    []int64  `json:"ulps"`
	Worst   []Judged `json:"worst"`    // at most 16, worst first
	NBlocks int      `json:"n_blocks"` // blocks that G4 looked at
	Blocks  []Block  `json:"blocks"`   // of these at most 8, those closest to their limits first
	Slope   *Slope   `json:"slope"`    // null if G5 does not apply
	Map     *Map     `json:"map"`      // null if no element was rejected
}

// Map locates the errors of a rejected output: a grid of cells, row by row, over the output viewed as [rows,
// last dim].
type Map struct {
	Rows     int64   `json:"rows"` // of the output
	Cols     int64   `json:"cols"`
	Down     int     `json:"down"`   // cells of a column of the grid
	Across   int     `json:"across"` // cells of a row of the grid
	Compared []int64 `json:"compared"`
	Wrong    []int64 `json:"wrong"`
	Most     []Float `json:"most"` // largest |y - R| / (T + half an ulp of y) of a cell: above 1 it is wrong
}

// Judged is one element with its truth: index, what it is, R and T in fp64.
type Judged struct {
	Index []int64 `json:"index"`
	Got   Float   `json:"got"`
	R     Float   `json:"r"`
	T     Float   `json:"t"`
}

// Block is a block of an output for G4: root mean squares of the error, of the simulated contract's error,
// and of the error bound in fp32.
type Block struct {
	Block     string `json:"block"`
	N         int64  `json:"n"`                // finite elements
	Errors    Float  `json:"errors,omitempty"` // independent ones that decide them; 0: n
	Error     Float  `json:"error"`
	Simulated Float  `json:"simulated"`
	FP32      Float  `json:"fp32"`
	Limit     Float  `json:"limit"`
}

// Slope holds the quantities of G5: how many elements carry the sum of R squared, the slope of the error
// along R, its standard deviation, the mean error bound.
type Slope struct {
	Spread     Float `json:"spread"`
	Slope      Float `json:"slope"`
	Sigma      Float `json:"sigma"`
	ErrorBound Float `json:"allowance"`
}

// filled returns a copy whose empty lists are not null.
func (s *Statistics) filled() *Statistics {
	if s == nil {
		return nil
	}
	f := *s
	f.ULPs, f.Worst, f.Blocks = append([]int64{}, s.ULPs...), append([]Judged{}, s.Worst...),
		append([]Block{}, s.Blocks...)
	return &f
}
