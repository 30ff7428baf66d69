package op

import (
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"
)

func parseKnown(t testing.TB, text string, float bool) Expression {
	t.Helper()
	e, err := ParseExpression(text, func(name string) bool { return len(name) == 1 }, float)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestIntegersAreExact(t *testing.T) {
	values := map[string]int64{"a": 7, "b": -3, "z": 0, "h": math.MaxInt64, "l": math.MinInt64}
	look := func(name string) (int64, bool) { v, ok := values[name]; return v, ok }
	for text, want := range map[string]int64{
		"a + b*2": 1, "a / b": -3, "a % b": -2, "b / a": -1, "b % a": 4, "-a / 2": -4, "ceildiv(a, 2)": 4,
		"ceildiv(-a, 2)": -3, "ceildiv(6, 3)": 2,
		"min(a, b)": -3, "max(a, b)": 7, "a >= 7 && !(b > 0)": 1, "z && a / z": 0, "a || a / z": 1,
		"a == 7 != z": 1, "h - 1": math.MaxInt64 - 1,
		"l + h": -1, "0x10": 16, "(a)": 7, "l / 1": math.MinInt64, "-1 * h": -math.MaxInt64,
		"l * 1": math.MinInt64,
	} {
		if got, err := parseKnown(t, text, false).Int(look); err != nil || got != want {
			t.Errorf("%s = %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{
		"h + 1", "l - 1", "h * 2", "l * -1", "-l", "l / -1", "h * h",
		"l + l", "-h - a",
	} {
		if _, err := parseKnown(t, text, false).Int(look); !errors.Is(err, ErrOverflow) {
			t.Errorf("%s: %v, want an overflow", text, err)
		}
	}
	for _, text := range []string{"a / z", "a % z", "ceildiv(a, z)"} {
		if _, err := parseKnown(t, text, false).Int(look); err == nil ||
			!strings.Contains(err.Error(), "division by zero") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := parseKnown(t, "q", false).Int(look); err == nil {
		t.Error("a name without a value has one")
	}
	if _, err := (Expression{}).Int(look); err == nil {
		t.Error("the empty expression has a value")
	}
}

func TestFloatsAreFinite(t *testing.T) {
	look := func(name string) (float64, bool) { return 64, name == "d" }
	if v, err := parseKnown(t, "1 / sqrt(d)", true).Float(look); v != 0.125 || err != nil {
		t.Errorf("%v %v", v, err)
	}
	if v, err := parseKnown(t, "min(1e-5, max(d, 2)) + (d % 5) * !(d > 3)", true).Float(look); v != 1e-5 ||
		err != nil {
		t.Errorf("%v %v", v, err)
	}
	for _, text := range []string{"1 / (d - 64)", "sqrt(0 - d)", "1e308 * 10"} {
		if v, err := parseKnown(t, text, true).Float(look); err == nil {
			t.Errorf("%s = %v", text, v)
		}
	}
}

func TestOnlyTheLanguageIsRead(t *testing.T) {
	for _, text := range []string{
		"", "a +", "a b", "unknown", "f(a)", "min(a)", "min(a, b, c)", "min(a...)", "a << 2", "a & b", "^a",
		"+a", `"a"`, "'a'", "1.5",
		"1e3", "sqrt(a)", "func() int { return 1 }()", "a[0]", "a.b", "[]int{1}", "99999999999999999999",
		"a; b", "1i", strings.Repeat("a+", 300) + "a",
	} {
		if e, err := ParseExpression(text,
			func(name string) bool { return len(name) == 1 }, false); err == nil {
			t.Errorf("%q was read as %v", text, e)
		}
	}
}

// FuzzExpression: any input ends in a value or an error message, and sums and products are those of arbitrary
// precision where they fit.
func FuzzExpression(f *testing.F) {
	for _, seed := range []string{
		"a + b * c", "ceildiv(a, 128)", "min(a, max(b, 3)) % 7", "!(a == b) && c",
		"((((a))))", "1 / sqrt(a)", "-9223372036854775808",
	} {
		f.Add(seed, int64(3), int64(-5))
	}
	f.Fuzz(func(t *testing.T, text string, a, b int64) {
		look := func(name string) (int64, bool) {
			if name == "a" {
				return a, true
			}
			return b, true
		}
		for _, float := range []bool{false, true} {
			e, err := ParseExpression(text, func(name string) bool { return len(name) == 1 }, float)
			if err != nil {
				continue
			}
			if !float {
				_, _ = e.Int(look)
			}
			if v, err := e.Float(func(name string) (float64, bool) {
				v, _ := look(name)
				return float64(v),
					true
			}); err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
				t.Errorf("%s = %v", text, v)
			}
		}
		for text, want := range map[string]*big.Int{
			"a + b": new(big.Int).Add(big.NewInt(a), big.NewInt(b)),
			"a - b": new(big.Int).Sub(big.NewInt(a), big.NewInt(b)), "a * b": new(big.Int).Mul(big.NewInt(a),
				big.NewInt(b)),
		} {
			got, err := parseKnown(t, text, false).Int(look)
			if fits := want.IsInt64(); fits != (err == nil) || fits && got != want.Int64() {
				t.Errorf("%s of %d and %d = %d, %v, want %v", text, a, b, got, err, want)
			}
		}
	})
}
