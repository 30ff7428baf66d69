package dropout

import (
	"math"
	"math/bits"
	"slices"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth/truthtest"
)

// Each bug is one changed line of the right kernel below.
var mutants = []truthtest.Mutant{
	{Number: 1, Name: "the dropped are kept"},
	{Number: 2, Name: "not scaled"},
	{Number: 3, Name: "scaled by 1 - p"},
	{Number: 4, Name: "a product by 0"},
	{Number: 5, Name: "the words the other way round"},
	{Number: 6, Name: "the first word for all four"},
	{Number: 7, Name: "a counter for each element"},
	{Number: 8, Name: "the offset ignored"},
	{Number: 9, Name: "the offset counts elements"},
	{Number: 10, Name: "the high half of the offset ignored"},
	{Number: 11, Name: "the high half of the seed ignored"},
	{Number: 12, Name: "the halves of the seed exchanged"},
	{Number: 13, Name: "seven rounds"},
	{Number: 14, Name: "nine rounds"},
	{Number: 15, Name: "signed words"},
	{Number: 16, Name: "8 bits of a word"},
	{Number: 17, Name: "the factor in 16 bits"},
	{Number: 18, Name: "tail not written"},
	{Number: 19, Name: "the last four elements dropped"},
}

// The right kernels: a product, and the division by 1 - p in fp32.
var right = []truthtest.Arithmetic{{}, {Form: 1}}

var suites = []truthtest.Suite{
	{Op: "dropout", Pass: op.Forward, Right: right, Mutants: mutants, Kernel: emulated("x", true)},
	{Op: "dropout", Pass: op.Backward, Right: right, Mutants: ofFinite(), Kernel: emulated("grad_y", false)},
}

// ofFinite returns the mutants of the backward: upstream gradients are finite, and 0 times them is 0 or -0,
// which are equal.
func ofFinite() []truthtest.Mutant {
	return slices.DeleteFunc(slices.Clone(mutants),
		func(m truthtest.Mutant) bool { return m.Name == "a product by 0" })
}

func TestMutation(t *testing.T) { truthtest.Mutation(t, suites) }

// emulated returns a kernel that computes in fp32.
func emulated(input string, withMask bool) func(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	return func(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
		x := p.V[input]
		y, mask := make([]float64, len(x)), make([]float64, len(x))
		for i, v := range x {
			keep := kept(a.Bug, p.Attrs, i, len(x))
			if keep {
				mask[i] = 1
			}
			switch {
			case keep:
				y[i] = scaled(a, p, v)
			case a.Bug == "a product by 0":
				y[i] = v * 0
			}
		}
		if a.Bug == "tail not written" {
			truthtest.LeaveTail(y, 1, len(y))
		}
		if withMask {
			return [][]float64{y, mask}
		}
		return [][]float64{y}
	}
}

// scaled returns an element that is kept.
func scaled(a truthtest.Arithmetic, p *truthtest.Prepared, v float64) float64 {
	rest := truthtest.F32(1 - truthtest.F32(p.Attrs.Number("p")))
	factor := truthtest.F32(1 / (1 - truthtest.F32(p.Attrs.Number("p"))))
	switch a.Bug {
	case "not scaled":
		factor = 1
	case "scaled by 1 - p":
		factor = rest
	case "the factor in 16 bits":
		factor = tensor.Round(p.Low(), factor, false)
	}
	if a.Form == 1 {
		return truthtest.F32(v / rest)
	}
	return truthtest.F32(v * factor)
}

// kept reports whether an element is kept, with its bug.
func kept(bug string, attributes op.Attrs, i, n int) bool {
	seed, offset := uint64(attributes.Number("seed")), uint64(attributes.Number("offset"))
	threshold := uint32(math.RoundToEven(truthtest.F32(attributes.Number("p")) * 0x1p32))
	counter, at, rounds := offset+uint64(i/4), i%4, 10
	switch bug {
	case "the words the other way round":
		at = 3 - at
	case "the first word for all four":
		at = 0
	case "a counter for each element":
		counter, at = offset+uint64(i), 0
	case "the offset ignored":
		counter = uint64(i / 4)
	case "the offset counts elements":
		counter, at = (offset+uint64(i))/4, int((offset+uint64(i))%4)
	case "the high half of the offset ignored":
		counter &= math.MaxUint32
	case "the high half of the seed ignored":
		seed &= math.MaxUint32
	case "the halves of the seed exchanged":
		seed = bits.RotateLeft64(seed, 32)
	case "seven rounds":
		rounds = 7
	case "nine rounds":
		rounds = 9
	case "the last four elements dropped":
		if i >= n-4 {
			return false
		}
	}
	word := random(counter, seed, rounds)[at]
	switch bug {
	case "the dropped are kept":
		return word < threshold
	case "signed words":
		return int32(word) >= int32(threshold)
	case "8 bits of a word":
		return word>>24 >= threshold>>24
	}
	return word >= threshold
}

// random implements Philox-4x32 again, with a number of rounds.
func random(counter, seed uint64, rounds int) [4]uint32 {
	c := [4]uint32{uint32(counter), uint32(counter >> 32)}
	a, b := uint32(seed), uint32(seed>>32)
	for range rounds {
		p, q := uint64(c[0])*0xD2511F53, uint64(c[2])*0xCD9E8D57
		c = [4]uint32{uint32(q>>32) ^ c[1] ^ a, uint32(q), uint32(p>>32) ^ c[3] ^ b, uint32(p)}
		a, b = a+0x9E3779B9, b+0xBB67AE85
	}
	return c
}
