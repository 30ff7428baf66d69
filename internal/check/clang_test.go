package check

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"triad/cuda"
	"triad/internal/need"
)

// byGCC are the programs of the zoo whose bug is told where g++ compiles alone: clang++ splits what is
// misaligned into bytes.
var byGCC = []string{"misaligned_row", "misaligned_vector"}

// aside are those that clang++ would compile so that the bug is told elsewhere or not at all, were it not
// told otherwise (cuda.programFlagsClang).
var aside = []string{"uninitialised_half", "bounds_heap", "double_free_heap"}

// TestZooUnderClang: under every version of clang++ the planted bugs are found at their lines and the mended
// twins are silent, as under g++. Every time each version has a third of the races and of those aside,
// another than the others have, one twin in four of these, and one of the ordinary programs.
func TestZooUnderClang(t *testing.T) {
	var often, seldom []string // of these every time
	for _, file := range programsIn(t, zoo) {
		name := strings.TrimSuffix(filepath.Base(file), ".cu")
		switch {
		case slices.Contains(byGCC, name):
		case strings.HasPrefix(name, "race_"), slices.Contains(aside, name):
			often = append(often, file)
		default:
			seldom = append(seldom, file)
		}
	}
	every := len(need.ClangVersions)
	for v, version := range need.ClangVersions {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			b := builder(t)
			b.Compiler = clang(t, version)
			for i, file := range slices.Concat(often, seldom) {
				if !need.Part(i+every-v, every) || i >= len(often) && !need.Part(1, 2) {
					continue
				}
				t.Run(filepath.Base(file), func(t *testing.T) {
					t.Parallel()
					found(t, b, file, bugs(t, file))
					if need.Part(i/every, 4) {
						silent(t, b, file, "MENDED")
					}
				})
			}
			for _, file := range programsIn(t, "../../cuda/emulator/testdata/programs") {
				if filepath.Base(file) != "warp_product.cu" && !need.Part(1, 2) {
					continue
				}
				t.Run(filepath.Base(file), func(t *testing.T) {
					t.Parallel()
					silent(t, b, file)
				})
			}
		})
	}
}

func clang(t *testing.T, version int) cuda.HostCompiler {
	t.Helper()
	path := need.ClangOf(t, version)
	out, err := exec.Command(path, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(out), "\n")
	return cuda.HostCompiler{Path: path, Clang: true, Version: first}
}
