package added

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"triad/internal/op"

	"golang.org/x/sys/unix"
)

// writeFiles writes files with the same text into a folder.
func writeFiles(t *testing.T, folder, text string, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700),
			os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAddStandsForSeveralFiles: folders, patterns and a list stand for files: each once, sorted by path.
func TestAddStandsForSeveralFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFiles(t, ".", "", "c/b.cu", "c/a.py", "c/deep/er/d.cu", "c/head.cuh", "c/notes.txt", "c/.git/x.cu",
		"c/.hidden.cu", "c/odd[1].cu", "empty/none.txt",
		"d/scale/scale.toml", "d/scale/scale.py", "d/scale/scale.cu", "d/scale/mine.cu", "d/mine.toml",
		"d/mine.py")
	writeFiles(t, "out", "", "side.cu")
	if err := errors.Join(
		os.Symlink("b.cu", filepath.Join("c", "link.cu")),
		os.Symlink("../out/side.cu", filepath.Join("c", "out.cu")),
		os.Symlink(".", filepath.Join("c", "deep", "again")),
		unix.Mkfifo(filepath.Join("c", "pipe.cu"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ add, in, want, refused string }{
		{add: "c/b.cu", want: "c/b.cu"},
		{add: "c/b.cu:solve<float*>@forward", want: "c/b.cu:solve<float*>@forward"},
		{add: "nowhere.cu", want: "nowhere.cu"},
		{add: "c", want: "c/a.py c/b.cu c/deep/er/d.cu c/odd[1].cu"},
		{add: "c/odd[1].cu", want: "c/odd[1].cu"},
		{add: "d", want: "d/mine.py d/scale/mine.cu"},
		{add: "d/scale/scale.cu", want: "d/scale/scale.cu"},
		{add: "c/**/[bd].cu", want: "c/b.cu c/deep/er/d.cu"},
		{add: "c/*", want: "c/a.py c/b.cu c/link.cu c/odd[1].cu"},
		{add: "c/{a,b}.*", want: "c/a.py c/b.cu"},
		{add: "c/[bd].cu:solve@forward", want: "c/b.cu:solve@forward"},
		{add: "c/b.cu|./c/*.cu", want: "c/b.cu c/link.cu c/odd[1].cu"},
		{add: "-", in: "c/b.cu\n\n  c/a.py:f@backward  \r\n", want: "c/b.cu c/a.py:f@backward"},
		{add: "-", in: " \n", refused: "names no file"},
		{add: "-", in: strings.Repeat("x", 1<<20), refused: "read line 1 of the list"},
		{add: "-|-", in: "c/b.cu\n", refused: "name it once"},
		{add: "empty", refused: "no .cu and no .py file is there"},
		{add: "c/*.cpp", refused: "no .cu and no .py file is there"},
		{add: "c/[.cu", refused: "syntax error in pattern"},
	} {
		f := Flags{Add: strings.Split(c.add, "|")}
		err := f.Expand(strings.NewReader(c.in), "")
		switch {
		case c.refused != "":
			var usage *op.UsageError
			if !errors.As(err, &usage) || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("--add %s: %v, want %q", c.add, err, c.refused)
			}
		case err != nil || strings.Join(f.Add, " ") != c.want:
			t.Errorf("--add %s: %s (%v), want %s", c.add, strings.Join(f.Add, " "), err, c.want)
		}
	}
}
