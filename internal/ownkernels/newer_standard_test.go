package ownkernels

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A file that uses features that C++17 lacks, or includes one that does, is compiled as C++20; a flag of the
// user takes precedence.
func TestNewerStandard(t *testing.T) {
	folder := t.TempDir()
	header := "#pragma once\ntemplate <std::integral T> T twice(T n) { return 2 * n; }\n"
	if err := os.WriteFile(filepath.Join(folder, "twice.hpp"), []byte(header), 0o644); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "a.cu")
	for text, newer := range map[string]bool{
		"#include <span>\n":                                    true,
		"#include \"twice.hpp\"\n":                             true,
		"template <typename T>\nconcept Number = true;\n":      true,
		"template <typename T> requires (sizeof(T) == 4)\n":    true,
		"int n = std::bit_ceil(5u);\n":                         true,
		"#include <cuda_runtime.h>\nint integral, concept_;\n": false,
		"// it requires that n divides by 4\nint span;\n":      false,
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		got := newerStandard(path, []byte(text), nil)
		if slices.Equal(got, []string{"-std=c++20"}) != newer {
			t.Errorf("%q: %v, want C++20: %v", text, got, newer)
		}
		if got := newerStandard(path, []byte(text), []string{"-std=c++17"}); got != nil {
			t.Errorf("%q: %v beside the user's own", text, got)
		}
	}
}
