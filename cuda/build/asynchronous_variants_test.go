package build

import (
	"strings"
	"testing"
)

// TestDivided: registrations are kept or removed whole, without moving lines; text in comments or macros is
// no registration.
func TestDivided(t *testing.T) {
	text := "// TRIAD_KERNEL(a, x, forward, .asynchronous())\n" +
		"TRIAD_KERNEL(a, b, forward,\n .contract(\"(\").launch(f))\nint f();\n" +
		"TRIAD_KERNEL(a, c, forward, .asynchronous().launch(g<(1 > 0)>))\n"
	marked, others, ok := divided([]byte(text))
	if !ok || strings.Count(string(marked), "\n") != 5 || strings.Count(string(others), "\n") != 5 {
		t.Fatalf("%t\n%s\n%s", ok, marked, others)
	}
	for _, c := range []struct {
		in, word string
		has      bool
	}{
		{string(marked), "a, b", false},
		{string(marked), "launch(f)", false},
		{string(marked), "int f();", true},
		{string(marked), "a, c", true},
		{string(others), "a, b", true},
		{string(others), "launch(g", false},
	} {
		if strings.Contains(c.in, c.word) != c.has {
			t.Errorf("%q: want it there: %t in\n%s", c.word, c.has, c.in)
		}
	}
	for _, alike := range []string{
		"TRIAD_KERNEL(a, b, forward, .launch(f))", "TRIAD_KERNEL(a, .asynchronous()",
	} {
		if _, _, ok := divided([]byte(alike)); ok {
			t.Errorf("%s was divided", alike)
		}
	}
}
