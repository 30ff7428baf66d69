package tensor

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/x448/float16"

	"triad/internal/op"
)

var narrowFormats = map[string]narrow{
	"fp16": narrowFP16, "bf16": narrowBF16, "e4m3": narrowE4M3,
	"e5m2": narrowE5M2, "e2m1": narrowE2M1,
}

// Every code except the NaN codes is reproduced, and a NaN code decodes to NaN.
func TestEveryCodeRoundTrips(t *testing.T) {
	for name, n := range narrowFormats {
		finite := 0
		for code := range uint64(1) << n.bits {
			x := n.decode(code)
			if magnitude := code &^ (1 << (n.bits - 1)); magnitude > n.maxCode &&
				!(magnitude == n.overflow && n.Infinity) {
				if !math.IsNaN(x) {
					t.Errorf("%s: code %#x decodes to %v, want NaN", name, code, x)
				}
				continue
			}
			finite++
			if back := n.encode(x); back != code {
				t.Errorf("%s: code %#x decodes to %v, which encodes to %#x", name, code, x, back)
			}
		}
		if finite < 1<<n.bits/2 {
			t.Errorf("%s: only %d codes were compared", name, finite)
		}
	}
}

// Decoding, by tables and shifts, gives for every code the value of the format, and encoding gives the code
// back.
func TestEveryElementDecodesAsItsFormat(t *testing.T) {
	for d, n := range map[op.DType]narrow{
		op.FP16: narrowFP16, op.BF16: narrowBF16, op.E4M3: narrowE4M3,
		op.E5M2: narrowE5M2,
	} {
		codes := 1 << n.bits
		data := make([]byte, 0, codes*int(d.Size()))
		for code := range codes {
			data = binary.LittleEndian.AppendUint16(data[:code*int(d.Size())],
				uint16(code))[:(code+1)*int(d.Size())]
		}
		values := Decode(d, data)
		for code, got := range values {
			want := n.decode(uint64(code))
			if math.Float64bits(got) != math.Float64bits(want) && !(math.IsNaN(got) && math.IsNaN(want)) {
				t.Fatalf("%v code %#x: %v, want %v", d, code, got, want)
			}
		}
		for i, b := range Encode(d, values) {
			if b != data[i] && !math.IsNaN(values[i/int(d.Size())]) {
				t.Fatalf("%v code %#x encodes to another", d, i/int(d.Size()))
			}
		}
	}
	for code := range 16 {
		got, want := DecodeE2M1([]byte{byte(code << 4)}, 2)[1], narrowE2M1.decode(uint64(code))
		if back := EncodeE2M1([]float64{0, got})[0] >> 4; math.Float64bits(got) != math.Float64bits(want) ||
			back != byte(code) {
			t.Errorf("e2m1 code %#x: %v, want %v; it encodes to %#x", code, got, want, back)
		}
	}
}

// fp32 has too many codes to try them all: numbers of every exponent, with random, first and last fractions,
// the midpoints to their neighbours, and both fp64 neighbours of these round as math/big says.
func TestFP32OnBoundaries(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 3))
	format := formats[op.FP32]
	checked := 0
	for exponent := range uint32(255) {
		for range 40 {
			for _, fraction := range []uint32{0, 1<<23 - 1, r.Uint32N(1 << 23)} {
				x := float64(math.Float32frombits(exponent<<23 | fraction))
				for _, b := range []float64{x, x + format.ULP(x)/2} {
					for _, v := range []float64{
						math.Nextafter(b, -1), b, math.Nextafter(b, math.Inf(1)),
						-b,
					} {
						want, all := exactly(format, v), []float64{v}
						format.RoundAll(all, all, false)
						if got := Decode(op.FP32, Encode(op.FP32, []float64{v}))[0]; got != want ||
							all[0] != want || format.Round(v, false) != want {
							t.Fatalf("fp32: %v is stored as %v and rounded to %v and %v, want %v", v, got,
								all[0], format.Round(v, false), want)
						}
						checked++
					}
				}
			}
		}
	}
	if checked != 255*40*3*8 {
		t.Errorf("%d boundaries were checked", checked)
	}
}

// The values are those of IEEE 754 as another library reads them.
func TestFP16AgreesWithAnotherLibrary(t *testing.T) {
	for code := range 1 << 16 {
		want := float64(float16.Frombits(uint16(code)).Float32())
		if got := narrowFP16.decode(uint64(code)); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Fatalf("fp16 code %#x: %v, want %v", code, got, want)
		}
	}
}

func TestKnownCodes(t *testing.T) {
	for _, c := range []struct {
		d    op.DType
		x    float64
		want []byte
	}{
		{op.E4M3, 448, []byte{0x7e}},
		{op.E4M3, 464, []byte{0x7e}},
		{op.E4M3, math.Nextafter(464, 500), []byte{0x7f}},
		{op.E4M3, -1000, []byte{0xff}},
		{op.E4M3, 0x1p-9, []byte{1}},
		{op.E4M3, 0x1p-10, []byte{0}},
		{op.E4M3, math.Inf(1), []byte{0x7f}},
		{op.E4M3, math.NaN(), []byte{0x7f}},
		{op.E5M2, 61440, []byte{0x7c}},
		{op.E5M2, math.Nextafter(61440, 0), []byte{0x7b}},
		{op.E5M2, math.Inf(-1), []byte{0xfc}},
		{op.E5M2, 0x1p-16, []byte{1}},
		{op.E4M3, math.Inf(-1), []byte{0xff}},
		{op.FP16, -65504, []byte{0xff, 0xfb}},
		{op.FP16, 65520, []byte{0x00, 0x7c}},
		{op.FP16, 65519.99, []byte{0xff, 0x7b}},
		{op.FP16, 1, []byte{0x00, 0x3c}},
		{op.FP16, math.Copysign(0, -1), []byte{0, 0x80}},
		{op.BF16, 1 + 0x1p-8 + 0x1p-40, []byte{0x81, 0x3f}}, // rounded once: by way of fp32 it would be 1
		{op.FP32, 1, []byte{0, 0, 0x80, 0x3f}},
		{op.I8, 200, []byte{127}},
		{op.I8, -2.5, []byte{0xfe}},
		{op.U8, -3, []byte{0}},
		{op.I32, math.NaN(), []byte{0, 0, 0, 0}},
		{op.I64, math.Inf(1), []byte{0, 0, 0, 0, 0, 0, 0x20, 0}},
	} {
		if got := Encode(c.d, []float64{c.x}); !bytes.Equal(got, c.want) {
			t.Errorf("Encode(%s, %v) = %x, want %x", c.d, c.x, got, c.want)
		}
	}
}

// exactly rounds x to f by big.Float, with the precision below the normal range that the subnormal spacing
// leaves.
func exactly(f Format, x float64) float64 {
	if x == 0 || math.IsInf(x, 0) || math.IsNaN(x) {
		return x
	}
	_, e := math.Frexp(x)
	precision := min(f.P, e-1-(f.EMin-f.P+1)+1)
	var y float64
	switch quantum := f.SmallestSubnormal(); {
	case precision >= 1:
		rounded := new(big.Float).SetPrec(uint(precision)).SetMode(big.ToNearestEven)
		y, _ = rounded.Set(big.NewFloat(x)).Float64()
	case math.Abs(x) > quantum/2:
		y = math.Copysign(quantum, x)
	default:
		y = math.Copysign(0, x)
	}
	if math.Abs(y) > f.Max {
		return math.Copysign(math.Inf(1), x)
	}
	return y
}

// Every number of a narrow format, every midpoint to the next, and the fp64 neighbours of both round as
// math/big says, in Round and in the codec alike.
func TestRoundingOnEveryBoundary(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	for name, n := range narrowFormats {
		checked := 0
		check := func(x float64) {
			if math.IsNaN(x) {
				return
			}
			want := exactly(n.Format, x)
			all := []float64{x}
			n.RoundAll(all, all, false)
			for _, got := range []float64{n.Round(x, false), all[0]} {
				if got != want || math.Signbit(got) != math.Signbit(want) {
					t.Fatalf("%s: Round(%v) = %v, want %v", name, x, got, want)
				}
			}
			if math.IsInf(want, 0) && !n.Infinity {
				// the code of overflow: NaN, or the largest number of e2m1
				want = n.decode(n.overflow)
				want = math.Copysign(want, x)
			}
			if got := n.decode(n.encode(x)); !(got == want || math.IsNaN(got) && math.IsNaN(want)) {
				t.Fatalf("%s: %v encodes to %v, want %v", name, x, got, want)
			}
			checked++
		}
		for code := range n.maxCode + 1 {
			x := n.decode(code)
			next := x + n.ULP(x)
			for _, b := range []float64{x, (x + next) / 2, next} {
				for _, v := range []float64{math.Nextafter(b, -1), b, math.Nextafter(b, math.Inf(1))} {
					check(v)
					check(-v)
				}
			}
		}
		for range 20000 {
			check(math.Float64frombits(r.Uint64()))
			check(math.Ldexp(r.Float64(), n.EMin-n.P+r.IntN(4*n.P)))
		}
		if checked < 40000 {
			t.Errorf("%s: %d boundaries checked", name, checked)
		}
	}
}

func TestDecodeEncodeAreInverse(t *testing.T) {
	for d := op.FP64; d <= op.E2M1x2; d++ {
		values := []float64{0, 1}
		if d != op.Bool {
			values = append(values, 2, 100)
		}
		if d.IsFloat() {
			values = append(values, -0.5, math.Inf(-1), -2)
		}
		if d == op.E4M3 {
			values[5] = -448
		}
		if d == op.E4M3 || d == op.E5M2 {
			values[3] = 96
		}
		got := Decode(d, Encode(d, values))
		for i, v := range values {
			if got[i] != v {
				t.Errorf("%s: %v came back as %v", d, v, got[i])
			}
		}
	}
	if got := Decode(op.I64, binary.LittleEndian.AppendUint64(nil, 1<<63)); got[0] != -0x1p63 {
		t.Errorf("int64: %v", got)
	}
	if Decode(op.DTypeUnknown, []byte{1, 2}) != nil || len(Encode(op.DTypeUnknown, []float64{1})) != 0 {
		t.Error("an unknown dtype has elements")
	}
}

func TestE2M1PacksTwoAByte(t *testing.T) {
	packed := EncodeE2M1([]float64{0.5, -6, 7})
	if !bytes.Equal(packed, []byte{0xf1, 0x07}) {
		t.Errorf("packed %x", packed)
	}
	if got := DecodeE2M1(packed, 3); got[0] != 0.5 || got[1] != -6 || got[2] != 6 {
		t.Errorf("unpacked %v", got)
	}
}

func TestStridedViews(t *testing.T) {
	data := Encode(op.BF16, []float64{0, 1, 2, 3, 4, 5, 6, 7})
	for _, c := range []struct {
		view Tensor
		want []float64
	}{
		{Tensor{Shape: []int64{2, 3}, Stride: []int64{3, 1}, Offset: 1}, []float64{1, 2, 3, 4, 5, 6}},
		{Tensor{Shape: []int64{2, 3}, Stride: []int64{4, 1}}, []float64{0, 1, 2, 4, 5, 6}},
		{Tensor{Shape: []int64{2, 3}, Stride: []int64{1, 2}}, []float64{0, 2, 4, 1, 3, 5}},
		{Tensor{Shape: []int64{2, 3}, Stride: []int64{0, 1}}, []float64{0, 1, 2, 0, 1, 2}},
		{Tensor{Shape: []int64{0, 3}, Stride: []int64{3, 1}}, nil},
		{Tensor{Shape: []int64{2, 2, 2}, Stride: []int64{1, 4, 2}}, []float64{0, 2, 4, 6, 1, 3, 5, 7}},
		{Tensor{Shape: nil, Stride: nil, Offset: 7}, []float64{7}},
	} {
		c.view.DType, c.view.Data = op.BF16, data
		if err := c.view.Check(); err != nil {
			t.Error(err)
		}
		got := c.view.Float64s()
		if len(got) != len(c.want) {
			t.Fatalf("%v: %v, want %v", c.view.Stride, got, c.want)
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Fatalf("%v: %v, want %v", c.view.Stride, got, c.want)
			}
			row, column, one := int64(0), int64(i), make([]float64, 1)
			if rank := len(c.view.Shape); rank > 0 {
				cols := c.view.Shape[rank-1]
				row, column = int64(i)/cols, int64(i)%cols
			}
			if c.view.DecodeRow(one, row, column); one[0] != c.want[i] {
				t.Errorf("%v: row %d, column %d is %v, want %v", c.view.Stride, row, column,
					one[0], c.want[i])
			}
		}
	}
	// nothing to read, and no storage
	Tensor{DType: op.BF16, Shape: []int64{2, 0}, Stride: []int64{1, 1}, Offset: 1}.DecodeRow(nil, 1, 0)
	sliced := Tensor{DType: op.FP32, Shape: []int64{2, 2}, Stride: []int64{3, 1}, Data: make([]byte, 24)}
	sliced.SetFloat64s([]float64{1, 2, 3, 4})
	if got := Decode(op.FP32, sliced.Data); got[2] != 0 || got[3] != 3 || got[5] != 0 {
		t.Errorf("storage %v", got)
	}
}

func TestCheckRefusesWhatLeavesTheStorage(t *testing.T) {
	for name, bad := range map[string]Tensor{
		"beyond the end": {
			DType: op.FP32, Shape: []int64{2, 3}, Stride: []int64{4, 1},
			Data: make([]byte, 24),
		},
		"negative size":   {DType: op.FP32, Shape: []int64{-1}, Stride: []int64{1}},
		"negative stride": {DType: op.FP32, Shape: []int64{1}, Stride: []int64{-1}, Data: make([]byte, 4)},
		"negative offset": {
			DType: op.FP32, Shape: []int64{1}, Stride: []int64{1}, Offset: -1,
			Data: make([]byte, 4),
		},
		"overflow": {
			DType: op.FP32, Shape: []int64{1 << 40, 1 << 40}, Stride: []int64{1 << 40, 1},
			Data: make([]byte, 4),
		},
		"no dtype": {Shape: []int64{1}, Stride: []int64{1}, Data: make([]byte, 4)},
		"a stride too few": {
			DType: op.FP32, Shape: []int64{1, 1}, Stride: []int64{1},
			Data: make([]byte, 4),
		},
		"empty storage": {DType: op.FP32, Shape: []int64{1}, Stride: []int64{1}},
		"offset beyond end": {
			DType: op.FP32, Shape: []int64{1}, Stride: []int64{1}, Offset: 1,
			Data: make([]byte, 4),
		},
	} {
		if bad.Check() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func BenchmarkDecodeFP16(b *testing.B) {
	data := make([]byte, 2<<20)
	values := make([]float64, 1<<20)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		DecodeInto(values, op.FP16, data)
	}
}

func BenchmarkEncodeBF16(b *testing.B) {
	values := make([]float64, 1<<20)
	for i := range values {
		values[i] = float64(i) / 7
	}
	data := make([]byte, 2<<20)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		EncodeInto(data, op.BF16, values)
	}
}
