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

// TestZooUnderClang: under every version of clang++ the planted bugs are found at their lines and the mended
// twins are silent, as under g++. Every time each version has a third of the races, another than its
// neighbours, one twin in four of these and one of the ordinary programs.
func TestZooUnderClang(t *testing.T) {
	files := programsIn(t, zoo)
	slices.SortStableFunc(files, func(a, b string) int { // races first
		race := func(name string) int { return strings.Count(filepath.Base(name), "race_") }
		return race(b) - race(a)
	})
	races := 0
	for strings.HasPrefix(filepath.Base(files[races]), "race_") {
		races++
	}
	programs := programsIn(t, "../../cuda/emulator/testdata/programs")
	for v, version := range need.ClangVersions {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			b := builder(t)
			b.Compiler = clang(t, version)
			every := len(need.ClangVersions)
			for i, file := range files {
				name := strings.TrimSuffix(filepath.Base(file), ".cu")
				if slices.Contains(byGCC, name) || !(i < races && i%every == v || need.Part(1, 2)) {
					continue
				}
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					found(t, b, file, bugs(t, file))
					if need.Part(i/every, 4) {
						silent(t, b, file, "MENDED")
					}
				})
			}
			for i, file := range programs {
				if need.Part(i, len(programs)) {
					t.Run(filepath.Base(file), func(t *testing.T) {
						t.Parallel()
						silent(t, b, file)
					})
				}
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
