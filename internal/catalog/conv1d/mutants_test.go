package conv1d

import (
	"testing"

	"triad/internal/op"
	"triad/internal/truth/truthtest"
)

// withBias returns why a bug in the bias, or in its gradient, shows nothing in a group.
func withBias(g truthtest.Group) string {
	if g.Value == "true" {
		return ""
	}
	return "there is no bias"
}

var suites = []truthtest.Suite{
	{
		Op: "conv1d", Pass: op.Forward, Right: truthtest.RowVariants, Kernel: emulated,
		Mutants: []truthtest.Mutant{
			{Number: 1, Name: "filter flipped"},
			{Number: 2, Name: "padding ignored"},
			{Number: 3, Name: "stride ignored"},
			{Number: 4, Name: "last tap dropped"},
			{Number: 5, Name: "last channel dropped"},
			{Number: 6, Name: "bias missing", Equivalent: withBias},
			{Number: 7, Name: "bias of the place", Equivalent: withBias},
			{Number: 8, Name: "ends repeated instead of left out"},
			{Number: 9, Name: "ends taken from the neighbouring row"},
			{Number: 10, Name: "halo of a tile is 0"},
			{Number: 11, Name: "filters by taps, then channels"},
			{Number: 12, Name: "low-precision accumulator"},
			{Number: 13, Name: "first row of the batch for all"},
			{Number: 14, Name: "tail of a row not written"},
			{Number: 15, Name: "channels' sums in 16 bits"},
			{Number: 16, Name: "bias of the first channel for all", Equivalent: withBias},
		},
	},
	{
		Op: "conv1d", Pass: op.Backward, Right: truthtest.RowVariants, Kernel: emulatedBackward,
		Mutants: []truthtest.Mutant{
			{Number: 20, Name: "filter flipped"},
			{Number: 21, Name: "padding ignored"},
			{Number: 22, Name: "stride ignored"},
			{Number: 23, Name: "last tap dropped"},
			{Number: 24, Name: "last output channel dropped"},
			{Number: 25, Name: "last of the batch dropped"},
			{Number: 26, Name: "last place dropped"},
			{Number: 27, Name: "ends repeated instead of left out"},
			{Number: 28, Name: "grad_bias of one of the batch", Equivalent: withBias},
			{Number: 29, Name: "grad_bias is the mean", Equivalent: withBias},
			{Number: 30, Name: "low-precision accumulator"},
			{Number: 31, Name: "grad_w is the mean over the batch"},
			{Number: 32, Name: "tail of a row not written"},
			{Number: 33, Name: "grad_w of the output channel before"},
		},
	},
}

func TestMutation(t *testing.T) { truthtest.Mutation(t, suites) }

// emulation is a kernel with its bug, of some sizes.
type emulation struct {
	a   truthtest.Arithmetic
	low op.DType
	sizes
}

func emulationOf(a truthtest.Arithmetic, p *truthtest.Prepared) emulation {
	x, w := p.In["x"].Shape, p.In["w"].Shape
	e := emulation{a: a, low: p.Low(), sizes: sizes{
		batch: x[0], in: x[1], length: x[2], out: w[0], taps: w[2],
		stride: int64(p.Attrs.Number("stride")), padding: int64(p.Attrs.Number("padding")),
	}}
	e.places = (e.length+2*e.padding-e.taps)/e.stride + 1
	switch a.Bug {
	case "padding ignored":
		e.padding = 0
	case "stride ignored":
		e.stride = 1
	}
	return e
}

func (e emulation) sum(n int64, f func(i int64) float64) float64 {
	of := func(i int) float64 { return f(int64(i)) }
	if e.a.Bug == "low-precision accumulator" {
		return truthtest.SumLow(e.low, int(n), of)
	}
	return e.a.Sum(int(n), of)
}

// tileOf is the number of places that an emulated kernel takes at once.
const tileOf = 16

// element returns what tap t at place l reads of row (b, c) of x.
func (e emulation) element(x []float64, b, c, l, t int64) float64 {
	at := l*e.stride + t - e.padding
	row := (b*e.in + c) * e.length
	switch {
	case e.a.Bug == "halo of a tile is 0" && at >= ((l/tileOf+1)*tileOf)*e.stride-e.padding:
		return 0
	case at >= 0 && at < e.length:
		return x[row+at]
	case e.a.Bug == "ends repeated instead of left out":
		return x[row+max(0, min(e.length-1, at))]
	case e.a.Bug == "ends taken from the neighbouring row" && row+at >= 0 && row+at < int64(len(x)):
		return x[row+at]
	}
	return 0
}

// weight returns the position of tap t of channel c for output o.
func (e emulation) weight(o, c, t int64) int64 {
	switch e.a.Bug {
	case "filter flipped":
		t = e.taps - 1 - t
	case "filters by taps, then channels":
		return (o*e.taps+t)*e.in + c
	}
	return (o*e.in+c)*e.taps + t
}

func emulated(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	e, x, w, bias := emulationOf(a, p), p.V["x"], p.V["w"], p.V["bias"]
	y := make([]float64, 0, e.batch*e.out*e.places)
	for i := range e.batch * e.out * e.places {
		l, o, b := i%e.places, i/e.places%e.out, i/e.places/e.out
		if a.Bug == "first row of the batch for all" {
			b = 0
		}
		channel := func(c int64) func(t int64) float64 {
			return func(t int64) float64 {
				dropped := a.Bug == "last tap dropped" && t == e.taps-1 && e.taps > 1 ||
					a.Bug == "last channel dropped" && c == e.in-1 && e.in > 1
				if dropped {
					return 0
				}
				return truthtest.F32(w[e.weight(o, c, t)] * e.element(x, b, c, l, t))
			}
		}
		var sum float64
		if a.Bug == "channels' sums in 16 bits" {
			sum = e.sum(e.in, func(c int64) float64 {
				return truthtest.RoundedTo(e.low, []float64{e.sum(e.taps, channel(c))})[0]
			})
		} else {
			sum = e.sum(e.in*e.taps, func(k int64) float64 { return channel(k / e.taps)(k % e.taps) })
		}
		if len(bias) > 0 {
			sum = truthtest.F32(sum + e.bias(bias, o, l))
		}
		y = append(y, sum)
	}
	if a.Bug == "tail of a row not written" {
		truthtest.LeaveTail(y, int(e.batch*e.out), int(e.places))
	}
	return [][]float64{y}
}

// bias returns what is added to place l of output channel o.
func (e emulation) bias(bias []float64, o, l int64) float64 {
	switch e.a.Bug {
	case "bias missing":
		return 0
	case "bias of the place":
		o = l % e.out
	case "bias of the first channel for all":
		o = 0
	}
	return bias[o]
}

func emulatedBackward(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	e := emulationOf(a, p)
	dx, dw := e.ofX(p.V["w"], p.V["grad_y"]), e.ofW(p.V["x"], p.V["grad_y"])
	if a.Bug == "tail of a row not written" {
		truthtest.LeaveTail(dx, int(e.batch*e.in), int(e.length))
	}
	if p.Attrs.Text("with_bias") != "true" {
		return [][]float64{dx, dw, {}}
	}
	return [][]float64{dx, dw, e.ofTheBias(p.V["grad_y"])}
}

func (e emulation) ofX(w, dy []float64) []float64 {
	dx := make([]float64, e.batch*e.in*e.length)
	for i := range dx {
		at, c, b := int64(i)%e.length, int64(i)/e.length%e.in, int64(i)/e.length/e.in
		dx[i] = e.sum(e.out*e.taps, func(k int64) float64 {
			o, t := k/e.taps, k%e.taps
			from := at + e.padding - t
			switch {
			case from < 0 || from%e.stride != 0 || from/e.stride >= e.places:
				return 0
			case e.a.Bug == "last tap dropped" && t == e.taps-1 && e.taps > 1,
				e.a.Bug == "last output channel dropped" && o == e.out-1 && e.out > 1,
				e.a.Bug == "last place dropped" && from/e.stride == e.places-1 && e.places > 1:
				return 0
			}
			return truthtest.F32(w[e.weight(o, c, t)] * dy[(b*e.out+o)*e.places+from/e.stride])
		})
	}
	return dx
}

func (e emulation) ofW(x, dy []float64) []float64 {
	dw := make([]float64, e.out*e.in*e.taps)
	for i := range dw {
		t, c, o := int64(i)%e.taps, int64(i)/e.taps%e.in, int64(i)/e.taps/e.in
		if e.a.Bug == "grad_w of the output channel before" {
			o = (o + e.out - 1) % e.out
		}
		sum := e.sum(e.batch*e.places, func(k int64) float64 {
			b, l := k/e.places, k%e.places
			if e.a.Bug == "last of the batch dropped" && b == e.batch-1 && b > 0 {
				return 0
			}
			return truthtest.F32(dy[(b*e.out+o)*e.places+l] * e.element(x, b, c, l, t))
		})
		if e.a.Bug == "grad_w is the mean over the batch" && e.batch > 0 {
			sum = truthtest.F32(sum / float64(e.batch))
		}
		dw[i] = sum
	}
	return dw
}

func (e emulation) ofTheBias(dy []float64) []float64 {
	db := make([]float64, e.out)
	batch := e.batch
	if e.a.Bug == "grad_bias of one of the batch" {
		batch = min(batch, 1)
	}
	for o := range e.out {
		db[o] = e.sum(batch*e.places, func(k int64) float64 {
			return dy[(k/e.places*e.out+o)*e.places+k%e.places]
		})
		if e.a.Bug == "grad_bias is the mean" && batch > 0 {
			db[o] = truthtest.F32(db[o] / float64(batch*e.places))
		}
	}
	return db
}
