package ownkernels

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A header that is not beside a file is looked for in the folders of its repository, and not above that.
func TestNearHeaders(t *testing.T) {
	above := t.TempDir()
	root := filepath.Join(above, "repository")
	for name, text := range map[string]string{
		"repository/.git":                "", // a worktree's is a file
		"repository/include/checks.h":    "#include \"deeper.h\"\n",
		"repository/common/deeper.h":     "",
		"repository/kernels/beside.h":    "",
		"include/outside.h":              "",
		"repository/kernels/include/n.h": "",
		"repository/include/math.h":      "",
		"repository/Common/include/m.hh": "",
		"repository/include/cpp/N/own.h": "",
	} {
		at := filepath.Join(above, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text := []byte("#include \"beside.h\"\n#include \"checks.h\"\n#include \"outside.h\"\n#include <n.h>\n" +
		"#include <math.h>\n#include<m.hh>\n#include \"N/own.h\"\n")
	got := nearHeaders(filepath.Join(root, "kernels", "k.cu"), text, nil)
	want := []string{
		"-I" + filepath.Join(root, "include"), "-I" + filepath.Join(root, "common"),
		"-I" + filepath.Join(root, "kernels", "include"), "-I" + filepath.Join(root, "Common", "include"),
		"-I" + filepath.Join(root, "include", "cpp"),
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if again := nearHeaders(filepath.Join(root, "kernels", "k.cu"), text, want); len(again) > 0 {
		t.Errorf("what the user's folders hold is not looked for: %v", again)
	}
}
