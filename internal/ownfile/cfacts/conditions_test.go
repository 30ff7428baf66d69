package cfacts

import (
	"strings"
	"testing"
)

// Text under a condition that the file or a flag decides is read if it holds; if only the compiler knows,
// every branch is read.
func TestConditions(t *testing.T) {
	const defines = "#define ON 1\n#define OFF 0\n#define KIND (TILED)\n#define TILED 2\n#define F(x) x\n"
	for _, c := range []struct{ asked, want string }{
		{"#if ON", "a"},
		{"#if OFF", "b"},
		{"#if !ON // not now", "b"},
		{"#if defined(OFF) && !defined(OTHER)", "a"},
		{"#if defined OTHER || OFF", "b"},
		{"#if KIND == 2", "a"},
		{"#if KIND == TILED && UNKNOWN", "ab"},
		{"#if OFF && UNKNOWN", "b"},
		{"#if ON || UNKNOWN", "a"},
		{"#if UNKNOWN", "ab"},
		{"#if F(1)", "ab"},
		{"#if __CUDA_ARCH__ >= 800", "ab"},
		{"#if KIND + 1", "a"},
		{"#if UNKNOWN && !OTHER", "ab"},
		{"#if UNKNOWN > 3 || UNKNOWN <= 3", "a"},
		{"#if FLAG > 3", "a"},
		{"#if KIND == 1\nx\n#elif KIND == 2", "a"},
		{"#if KIND == 2\na\n#elif KIND == 2", "a"},
		{"#if OFF\nx\n#elif UNKNOWN", "ab"},
	} {
		text := defines + c.asked + "\na\n#else\nb\n#endif\n"
		got := strings.ReplaceAll(Join(Lex(text, "FLAG=4").Tokens), " ", "")
		if got != c.want {
			t.Errorf("%s: read %q, want %q", c.asked, got, c.want)
		}
	}
	undefined := Lex("#define N 1\n#undef N\n")
	if _, ok := undefined.Number("N"); ok {
		t.Error("a name that is no longer defined has a value")
	}
}
