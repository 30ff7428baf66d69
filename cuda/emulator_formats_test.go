package cuda

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/big"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
)

// formatTables is the hash of all result tables; it is the same with any compiler. When it was recorded, the
// conversions agreed with CUDA 13's own headers on the host: 12.6 million floats spread over all exponents,
// and every code.
const formatTables = "1d8455c19c93ba6e"

// The number formats against Go's codecs, which round differently: conversions of 655,360 floats, all codes
// decoded, 20,000 fused products.
func TestEmulatorNumberFormats(t *testing.T) {
	t.Parallel()
	out, status := runEmulated(t, "forward", newEmulated(t, "g++", "-O2").build(t, "formats.cu"))
	if status != 0 {
		t.Fatalf("status %d", status)
	}
	hash := fnv.New64a()
	hash.Write([]byte(out))
	if got := fmt.Sprintf("%016x", hash.Sum64()); got != formatTables {
		t.Errorf("hash of the tables is %s, want %s", got, formatTables)
	}
	rest := checkEncoding(t, []byte(out))
	rest = checkDecoding(t, rest)
	checkFused(t, rest)
}

func checkEncoding(t *testing.T, table []byte) []byte {
	low := []uint32{0x0000, 0x0001, 0x0fff, 0x1000, 0x1001, 0x3000, 0x7fff, 0x8000, 0x8001, 0xffff}
	var values []float64
	for high := range uint32(65536) {
		for _, bits := range low {
			values = append(values, float64(math.Float32frombits(high<<16|bits)))
		}
	}
	column := func(d op.DType, at int, saturate bool) {
		size, wrong := len(tensor.Encode(d, []float64{0})), 0
		for i, x := range values {
			want := tensor.Encode(d, []float64{tensor.Round(d, x, saturate)})
			got := table[i*8+at:][:size]
			if x != x {
				if y := tensor.Decode(d, got)[0]; y == y {
					t.Fatalf("%v: NaN encodes to %x", d, got)
				}
			} else if !bytes.Equal(got, want) {
				if saturate && math.IsInf(x, 0) &&
					tensor.Decode(d, got)[0] == math.Copysign(tensor.Round(d, 1e9, true), x) {
					continue // CUDA's saturation includes infinities
				}
				if wrong++; wrong < 4 {
					t.Errorf("%v, saturate %v: %v encodes to %x, want %x", d, saturate, x, got, want)
				}
			}
		}
	}
	column(op.FP16, 0, false)
	column(op.BF16, 2, false)
	column(op.E4M3, 4, false)
	column(op.E5M2, 5, false)
	column(op.E4M3, 6, true)
	column(op.E5M2, 7, true)
	return table[len(values)*8:]
}

func checkDecoding(t *testing.T, table []byte) []byte {
	for _, part := range []struct {
		codes  int
		dtypes [2]op.DType
	}{{65536, [2]op.DType{op.FP16, op.BF16}}, {256, [2]op.DType{op.E4M3, op.E5M2}}} {
		for code := range part.codes {
			for _, d := range part.dtypes {
				got := float64(math.Float32frombits(binary.LittleEndian.Uint32(table)))
				table = table[4:]
				b := binary.LittleEndian.AppendUint16(nil, uint16(code))
				want := tensor.Decode(d, b[:len(tensor.Encode(d, []float64{0}))])[0]
				if !(got == want && math.Signbit(got) == math.Signbit(want) || got != got && want != want) {
					t.Fatalf("%v: code %#x decodes to %v, want %v", d, code, got, want)
				}
			}
		}
	}
	return table
}

// checkFused computes a*b+c exactly, rounds to odd in 53 bits and then once to the format.
func checkFused(t *testing.T, table []byte) {
	state := uint64(1)
	draw := func() []byte {
		state = state*6364136223846793005 + 1442695040888963407
		return binary.LittleEndian.AppendUint16(nil, uint16(state>>48))
	}
	compared := 0
	for range 20000 {
		a, b, c := draw(), draw(), draw()
		for i, d := range []op.DType{op.FP16, op.BF16} {
			x, y, z := tensor.Decode(d, a)[0], tensor.Decode(d, b)[0], tensor.Decode(d, c)[0]
			want, ok := exactFused(x, y, z)
			if !ok {
				continue
			}
			compared++
			if code := tensor.Encode(d, []float64{want}); !bytes.Equal(code, table[2*i:][:2]) {
				t.Fatalf("%v: fma(%v, %v, %v) gives %x, want %x", d, x, y, z, table[2*i:][:2], code)
			}
		}
		table = table[4:]
	}
	if compared < 20000 {
		t.Errorf("only %d fused products were compared", compared)
	}
	for i, want := range []float64{258, 1 + 0x1p-7, 1 + 0x1p-10} {
		d := []op.DType{op.BF16, op.BF16, op.FP16}[i]
		if got := tensor.Decode(d, table[:2])[0]; got != want {
			t.Errorf("rounding once, case %d: %v, want %v", i, got, want)
		}
		table = table[2:]
	}
	if len(table) != 0 {
		t.Errorf("%d bytes too many", len(table))
	}
}

func exactFused(x, y, z float64) (float64, bool) {
	if x-x != 0 || y-y != 0 || z-z != 0 {
		return 0, false
	}
	exact := func(v float64) *big.Float { return new(big.Float).SetPrec(2000).SetFloat64(v) }
	sum := exact(x)
	sum.Mul(sum, exact(y)).Add(sum, exact(z))
	if sum.Sign() == 0 {
		return 0, false // the sign of a zero is another rule
	}
	cut := new(big.Float).SetPrec(53).SetMode(big.ToZero).Set(sum)
	v, _ := cut.Float64()
	if cut.Cmp(sum) != 0 {
		v = math.Float64frombits(math.Float64bits(v) | 1)
	}
	return v, true
}
