package build

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"triad/internal/catalog"
)

// TestSpecBeside: a kernel file in a folder of its own is checked by the spec in that folder.
func TestSpecBeside(t *testing.T) {
	folder := t.TempDir()
	name := catalog.Names()[0]
	spec, err := catalog.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	text, err := catalog.Source(name)
	if err != nil {
		t.Fatal(err)
	}
	own := strings.Replace(string(text), `name = "`+name+`"`, `name = "mine"`, 1)
	if err := os.WriteFile(filepath.Join(folder, "mine.toml"), []byte(own), 0o644); err != nil {
		t.Fatal(err)
	}
	header, ok := specHeaderAt("cuda/include/spec/mine.cuh", folder)
	if !ok || !strings.Contains(string(header), `static const SpecPass mine_forward("mine", "forward", {`) ||
		!strings.Contains(string(header), `{"`+spec.Spec.InputSpecs[0].Name+`", false, 0, `) {
		t.Errorf("%t:\n%s", ok, header)
	}
	for _, at := range []string{
		"cuda/include/spec/nothing.cuh", "cuda/include/spec.cuh", "cuda/include/spec/a/softmax.cuh",
		"spec/softmax.cuh",
	} {
		if _, ok := specHeaderAt(at, folder); ok {
			t.Errorf("there is a header at %s", at)
		}
	}
}
