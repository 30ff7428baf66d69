package check

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"triad/cuda/build"
	"triad/internal/need"
)

// byGCC lists the programs of the zoo whose bug is found only under g++: clang++ splits misaligned accesses
// into bytes.
var byGCC = []string{"misaligned_row", "misaligned_vector"}

// aside lists the programs whose bug clang++ would report elsewhere or not at all without the flags of
// cuda.programFlagsClang.
var aside = []string{"uninitialised_half", "bounds_heap", "double_free_heap"}

// TestZooUnderClang: under every version of clang++ the planted bugs are found at their lines and the fixed
// twins are silent, as under g++; so are ordinary programs. The fast tier has no part of it. The weekly
// rotation has the races, the programs of aside and one ordinary program; the others rotate more slowly.
func TestZooUnderClang(t *testing.T) {
	var often, seldom []string // often: run every time
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
	for _, version := range need.ClangVersions {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			for i, file := range slices.Concat(often, seldom) {
				t.Run(filepath.Base(file), func(t *testing.T) {
					coversClang(t, file, i < len(often))
					t.Parallel()
					b := clangBuilder(t, version)
					r, _ := checkedBy(t, b, file, time.Minute)
					found(t, r, bugs(t, file))
					silent(t, b, file, "FIXED")
				})
			}
			for _, file := range programsIn(t, programs) {
				t.Run(filepath.Base(file), func(t *testing.T) {
					coversClang(t, file, filepath.Base(file) == "warp_product.cu")
					t.Parallel()
					silent(t, clangBuilder(t, version), file)
				})
			}
		})
	}
}

// coversClang selects a program under clang++, which is never in the fast tier.
func coversClang(t *testing.T, file string, often bool) {
	t.Helper()
	if often {
		covers(t, file, "")
		return
	}
	need.Long(t, "each program is compiled by each version of clang++", inputOf(file)...)
}

func clangBuilder(t *testing.T, version int) *build.Builder {
	t.Helper()
	b := builder(t)
	b.Compiler = clang(t, version)
	return b
}

func clang(t *testing.T, version int) build.HostCompiler {
	t.Helper()
	path := need.ClangOf(t, version)
	out, err := exec.Command(path, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(out), "\n")
	return build.HostCompiler{Path: path, Clang: true, Version: first}
}
