package nearby

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A header that is not in the folder of a file is looked for in the folders of its repository, and not above.
func TestHeaders(t *testing.T) {
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
	got := Headers(filepath.Join(root, "kernels", "k.cu"), text, nil)
	want := []string{
		"-I" + filepath.Join(root, "include"), "-I" + filepath.Join(root, "common"),
		"-I" + filepath.Join(root, "kernels", "include"), "-I" + filepath.Join(root, "Common", "include"),
		"-I" + filepath.Join(root, "include", "cpp"),
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if again := Headers(filepath.Join(root, "kernels", "k.cu"), text, want); len(again) > 0 {
		t.Errorf("what the user's folders hold is not looked for: %v", again)
	}
}

// A header that is a pipe or a device, in the working directory or in the repository, is not opened: reading
// it might never end.
func TestHeadersOfNoEnd(t *testing.T) {
	root := t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(root, ".git"), 0o755),
		os.MkdirAll(filepath.Join(root, "kernels"), 0o755),
		unix.Mkfifo(filepath.Join(root, "pipe.h"), 0o600),
		os.WriteFile(filepath.Join(root, "sparse.h"), nil, 0o644),
		os.Truncate(filepath.Join(root, "sparse.h"), 6<<30)); err != nil {
		t.Fatal(err)
	}
	t.Chdir(root)
	text := []byte("#include \"pipe.h\"\n#include \"sparse.h\"\n" +
		"#include \"/proc/self/pagemap\"\n#include \"" + strings.Repeat("../", 20) + "dev/zero\"\n")
	began := time.Now()
	Headers(filepath.Join(root, "kernels", "k.cu"), text, nil)
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("the headers took %v", took)
	}
}
