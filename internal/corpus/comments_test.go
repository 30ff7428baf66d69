package main

import (
	"strings"
	"testing"
)

// TestWithoutComments: comments of Python go, a string that is a statement by itself too, and those of C++ go
// from the other strings. What is code stays, with the signs in strings that begin no comment. T is three
// quotes.
func TestWithoutComments(t *testing.T) {
	quotes := strings.NewReplacer("T", `"""`)
	for text, want := range map[string]string{
		"a = 1  # kernel (ours)\nb = 2\n":                "a = 1  \nb = 2\n",
		"Tkernel (ours)\nof # two linesT\nx = 7 // 2\n":  "\nx = 7 // 2\n",
		"def f():\n    r'kernel (ours)'  # it\n    pass": "def f():\n      \n    pass",
		"x = rTa /* b\n(c) */ d; // e (f)\nint g;T\n":    "x = rTa   d; \nint g;T\n",
		"f(\nTvoid kernel() {} // e\nT)\n":               "f(\nTvoid kernel() {} \nT)\n",
		`x = '// it\nvoid kernel()'`:                     `x = '\nvoid kernel()'`,
		`x = '\'# kernel()'  # y`:                        `x = '\'# kernel()'  `,
		"x = \\\n'kernel()'\n":                           "x = \\\n'kernel()'\n",
		"'kernel()'.join(y)\n":                           "'kernel()'.join(y)\n",
		`x = 'printf("// %d"); kernel() // y'`:           `x = 'printf("// %d"); kernel() `,
		"x = '/*.cu'; kernel()":                          "x = ' ; kernel()",
		"x = 'no end\nkernel()":                          "x = 'no end\nkernel()",
	} {
		if got := withoutComments(quotes.Replace(text)); got != quotes.Replace(want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
