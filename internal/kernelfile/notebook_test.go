package kernelfile

import "testing"

// Notebook commands are only removed at the head of a cell, and lines keep their numbers.
func TestWithoutNotebook(t *testing.T) {
	for text, want := range map[string]struct {
		plain string
		lines int
	}{
		"%%writefile a.cu\n#include <cstdio>\n":   {"\n#include <cstdio>\n", 1},
		"// mine\n\n%%cuda --name a.cu\nint x;\n": {"// mine\n\n\nint x;\n", 1},
		"!nvcc --version\n%%cu\nint x;":           {"\n\nint x;", 2},
		"int x;\n%%cu\n":                          {"int x;\n%%cu\n", 0},
		"int f(int a) { return\n!a; }":            {"int f(int a) { return\n!a; }", 0},
		"":                                        {"", 0},
	} {
		if plain, lines := WithoutNotebook(text); plain != want.plain || lines != want.lines {
			t.Errorf("%q: %q and %d lines, want %q and %d", text, plain, lines, want.plain, want.lines)
		}
	}
}
