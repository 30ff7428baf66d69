package kernelfile

import (
	"os"
	"strings"
	"testing"

	"triad/internal/op"
)

// A kernel that takes the length of a row from its grid is refused with the sizes of the file's own launch.
func TestSizesOfLaunch(t *testing.T) {
	text, err := os.ReadFile("../../cmd/triad/testdata/own/transpose_width_of_the_grid.cu")
	if err != nil {
		t.Fatal(err)
	}
	for ny, want := range map[string]string{"96": "rows=96,cols=96, or", "64": "rows=64,cols=96, or"} {
		file := ReadCUDA(strings.Replace(string(text), "ny = 96", "ny = "+ny, 1))
		_, err := Match(file, file.Functions[0], rowsAndCols(t), op.Forward, Options{})
		if err == nil || !strings.Contains(err.Error(), "--dims "+want) {
			t.Errorf("ny = %s: error %v, want one that says %q", ny, err, want)
		}
	}
}
