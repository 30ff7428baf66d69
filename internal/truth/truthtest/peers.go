package truthtest

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// A peer is a fixed tolerance of another project, scored on the same inputs (TRIAD_MUTATION_PEERS=1). Peers
// get better conditions than in their own harnesses: the fp64 truth rounded to the output's dtype as the
// reference, poisoned outputs, and where the truth is NaN or infinite a comparison of classes instead of a
// NaN that poisons every sum.
type peer struct {
	Name string
	near func(c comparison) bool // of the elements whose reference is finite; false for a NaN
}

// comparison is one output as a peer sees it: the returned output, the reference, and the baseline, a
// low-precision kernel's own result.
type comparison struct {
	dtype              op.DType
	got, want, against []float64
}

// Peers are the fixed tolerances that are scored.
var Peers = []peer{
	{"DeepGEMM, calc_diff < 1e-3", func(c comparison) bool {
		xy, xx, yy := 0.0, 0.0, 0.0
		scale := 0.0
		for i := range c.got {
			scale = max(scale, math.Abs(c.got[i]), math.Abs(c.want[i])) // so that no square overflows
		}
		if scale == 0 {
			return true
		}
		for i, x := range c.got {
			x, y := x/scale, c.want[i]/scale
			xy, xx, yy = xy+x*y, xx+x*x, yy+y*y
		}
		return 1-2*xy/(xx+yy) < 1e-3
	}},
	{"flashinfer-bench, absolute and relative 1e-2", func(c comparison) bool {
		return everywhere(c, func(x, y float64) bool {
			err := math.Abs(x - y)
			return err <= 1e-2 || err <= 1e-2*math.Abs(y)
		})
	}},
	{"KernelBench, allclose 1e-2 (fp32 1e-4)", func(c comparison) bool {
		tolerance := 1e-2
		if c.dtype == op.FP32 {
			tolerance = 1e-4
		}
		return everywhere(c,
			func(x, y float64) bool { return math.Abs(x-y) <= tolerance+tolerance*math.Abs(y) })
	}},
	{"FlashAttention, twice the baseline's error + atol", func(c comparison) bool {
		err, base, atol := 0.0, 0.0, 0.0
		for i, y := range c.want {
			err = max(err, math.Abs(c.got[i]-y))
			base = max(base, math.Abs(c.against[i]-y))
			up := tensor.Round(c.dtype, y+0.3, false)
			atol = max(atol, 2*math.Abs(tensor.Round(c.dtype, up-0.3, false)-y))
		}
		return err <= 2*base+atol
	}},
	{"torch assert_close, defaults", func(c comparison) bool {
		rtol := map[op.DType]float64{op.FP32: 1.3e-6, op.FP16: 1e-3, op.BF16: 1.6e-2}[c.dtype]
		return everywhere(c, func(x, y float64) bool { return math.Abs(x-y) <= 1e-5+rtol*math.Abs(y) })
	}},
}

func everywhere(c comparison, near func(x, y float64) bool) bool {
	for i, x := range c.got {
		if !near(x, c.want[i]) {
			return false
		}
	}
	return true
}

func peersAreScored() bool { return os.Getenv("TRIAD_MUTATION_PEERS") != "" }

// Accepts reports whether a peer accepts every output of a case.
func (r peer) Accepts(p *Prepared, stored []judge.Returned) bool {
	for i, o := range stored {
		if !r.acceptsOutput(p, i, o.Data) {
			return false
		}
	}
	return true
}

func (r peer) acceptsOutput(p *Prepared, i int, data []byte) bool {
	o := p.Truth.Outputs[i]
	got, c := tensor.Decode(o.DType, data), comparison{dtype: o.DType}
	for e, x := range got {
		y := tensor.Round(o.DType, o.R[e], false)
		if !truth.IsFinite(y) {
			if x != y && !(math.IsNaN(x) && math.IsNaN(y)) {
				return false
			}
			continue
		}
		if !truth.IsFinite(x) {
			return false
		}
		c.got, c.want, c.against = append(c.got, x), append(c.want, y), append(c.against, p.baseline[i][e])
	}
	return r.near(c)
}

// baselineOf returns the values of the baseline of a 2x rule: the written composition where the operator
// permits it in 16 bits, else the right kernel with its sums in sequence.
func baselineOf(t *testing.T, s Suite, spec *op.Spec, p *Prepared, in []tensor.Tensor) [][]float64 {
	a := s.Right[0]
	a.Order = InSequence
	values := s.Kernel(a, p)
	for i, o := range p.Truth.Outputs {
		values[i] = RoundedTo(o.DType, values[i])
	}
	for _, contract := range []string{"eager", "product16"} {
		if p.DType != "fp32" && slices.Contains(spec.Contract.Permits, contract) {
			truth, err := truth.Of(p.Case, contract, in, nil)
			if err != nil {
				t.Fatal(err)
			}
			values = Sims(truth)
		}
	}
	for _, v := range values {
		for i, x := range v {
			if !truth.IsFinite(x) {
				v[i] = 0
			}
		}
	}
	return values
}

// peerTable writes the scores as docs/judge.md shows them.
func peerTable(s Score) string {
	var b strings.Builder
	share := func(n, of int) string {
		return fmt.Sprintf("%d/%d = %.1f %%", n, of, 100*float64(n)/float64(max(of, 1)))
	}
	row := func(name string, friend, kills, alarms int) {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", name, share(friend, s.Pairs), share(kills, s.Pairs),
			share(alarms, s.Judgements))
	}
	fmt.Fprintf(&b, "| rule | killed on one normal case | killed by the suite | right variants accused "+
		"|\n|---|---|---|---|\n")
	for r, p := range Peers {
		row(p.Name, s.Friend[1+r], s.PeerKills[r], s.PeerAlarm[r])
	}
	row("**the judge**", s.Friend[0], s.PairsKilled, s.Accused)
	return b.String()
}
