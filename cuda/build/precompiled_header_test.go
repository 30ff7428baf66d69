package build

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"triad/internal/need"
)

// A user's file is compiled with the precompiled header.
func TestPreludeIsRead(t *testing.T) {
	b := testBuilder(t)
	if b.Compiler.Clang {
		need.Missing(t, "clang reads no header that g++ has compiled")
	}
	usual := slices.Concat(b.common(), kernelFlags, []string{"-iquote", t.TempDir()})
	flags := b.withPrelude(t.Context(), map[string][]byte{ownCall: nil}, usual)
	unit := writeFile(t, filepath.Join(t.TempDir(), "k.cc"), "#include \""+filepath.Base(ownCall)+"\"\n"+
		"unsigned n = triad_own::size_of_launch(7);\n")
	files, err := b.EmulatorSources()
	if err != nil {
		t.Fatal(err)
	}
	set, err := Gather(b.Sources, ownCall)
	if err != nil {
		t.Fatal(err)
	}
	text, _, err := set.Rewritten()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for _, tree := range []map[string][]byte{files, text} {
		if err := writeTree(folder, tree); err != nil {
			t.Fatal(err)
		}
	}
	args := slices.Concat(flags, []string{"-Werror", "-Winvalid-pch", "-H", unit, "-o", unit + ".so"})
	cmd := exec.Command(b.Compiler.Path, args...)
	cmd.Dir = folder
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "! "+flags[slices.Index(flags, "-include")+1]+".gch") {
		t.Errorf("%v: the compiled header is not read:\n%s", err, out)
	}
	for _, other := range [][]string{append(slices.Clone(usual), "-DTILE=32"), b.common()} {
		if got := b.withPrelude(t.Context(), map[string][]byte{ownCall: nil}, other); !slices.Equal(
			got,
			other,
		) {
			t.Errorf("%v became %v", other, got)
		}
	}
	if got := b.withPrelude(t.Context(), nil, usual); !slices.Equal(got, usual) {
		t.Error("a file that does not begin with the header gets it")
	}
}
