package workload

import (
	"math"
	"testing"
)

// The known answers that the authors of Philox publish with their code.
func TestPhiloxKnownAnswers(t *testing.T) {
	ones := uint32(0xffffffff)
	for _, c := range []struct {
		counter [4]uint32
		key     [2]uint32
		want    [4]uint32
	}{
		{[4]uint32{}, [2]uint32{}, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{[4]uint32{ones, ones, ones, ones}, [2]uint32{ones, ones}, [4]uint32{
			0x408f276d, 0x41c83b0e,
			0xa20bc7c6, 0x6d5451fd,
		}},
		{
			[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
			[2]uint32{0xa4093822, 0x299f31d0},
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1},
		},
	} {
		if got := Philox4x32(c.counter, c.key); got != c.want {
			t.Errorf("philox(%x, %x) = %x, want %x", c.counter, c.key, got, c.want)
		}
	}
}

func TestStreamsDiffer(t *testing.T) {
	seen := map[uint32]string{}
	for _, s := range [][4]any{
		{uint64(1), "k", "x", ""},
		{uint64(2), "k", "x", ""},
		{uint64(1), "l", "x", ""},
		{uint64(1), "k", "y", ""},
		{uint64(1), "k", "x", "z"},
		{uint64(1), "kx", "", ""},
	} {
		w := newStream(s[0].(uint64), s[1].(string), s[2].(string), s[3].(string)).word(7)
		if other, ok := seen[w]; ok {
			t.Errorf("%v begins like %s", s, other)
		}
		seen[w] = s[1].(string)
	}
}

// Drawn in any order, an element is the same.
func TestStreamIsIndexed(t *testing.T) {
	a, b := newStream(1, "k", "x", ""), newStream(1, "k", "x", "")
	for i := range uint64(20) {
		if a.word(i) != newStream(1, "k", "x", "").word(i) || a.word(19-i) != b.word(19-i) {
			t.Fatalf("word %d depends on the order", i)
		}
	}
}

func near(t *testing.T, what string, x, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s(%v) = %v, want %v", what, x, got, want)
	}
}

func TestPortableFunctionsAgreeWithTheLibrary(t *testing.T) {
	for i := range 20000 {
		p := (float64(i) + 0.5) / 20000
		want := -math.Sqrt2 * math.Erfcinv(2*p)
		near(t, "normalQuantile", p, normalQuantile(p), want, 1e-13*max(1, math.Abs(want)))
		x := 1e-9 * math.Pow(1.002, float64(i))
		if x < 1e12 {
			near(t, "logarithm", x, logarithm(x), math.Log(x), 1e-14)
		}
		angle := float64(i)*37.7 - 1000
		s, c := sineCosine(angle)
		near(t, "sin", angle, s, math.Sin(angle), 1e-13)
		near(t, "cos", angle, c, math.Cos(angle), 1e-13)
		e := float64(i)/200 - 50
		near(t, "exponential", e, exponential(e)/math.Exp(e), 1, 1e-14)
	}
	near(t, "normalQuantile", 0x1p-33, normalQuantile(0x1p-33), -math.Sqrt2*math.Erfcinv(0x1p-32), 1e-13)
}

func TestNormalHasItsMoments(t *testing.T) {
	const n = 1 << 18
	s := newStream(3, "moments", "x", "")
	var m1, m2, m4 float64
	for i := range uint64(n) {
		x := s.normal(i)
		m1 += x
		m2 += x * x
		m4 += x * x * x * x
	}
	near(t, "mean", n, m1/n, 0, 0.01)
	near(t, "variance", n, m2/n, 1, 0.015)
	near(t, "fourth moment", n, m4/n, 3, 0.12)
}

func BenchmarkNormal(b *testing.B) {
	s := newStream(3, "speed", "x", "")
	for b.Loop() {
		for i := range uint64(1 << 20) {
			s.normal(i)
		}
	}
}
