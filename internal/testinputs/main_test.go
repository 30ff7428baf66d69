package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// checkout makes a repository with one commit on main, and returns a function that runs git in it.
func checkout(t *testing.T) (root string, git func(args ...string)) {
	t.Helper()
	root = t.TempDir()
	git = func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git("init", "--quiet", "--initial-branch=main")
	for file, text := range map[string]string{
		"cuda/kernels/a.cu": "#include \"reduce.cuh\"\n", "cuda/kernels/b.cu": "#include <stdio.h>\n",
		"cuda/include/reduce.cuh": "#include \"pack.cuh\"\n", "cuda/include/pack.cuh": "\n",
		"README.md": "a\n",
	} {
		write(t, root, file, text)
	}
	git("add", "--all")
	git("commit", "--quiet", "--message=first")
	return root, git
}

func write(t *testing.T, root, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(root, file)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, file), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func inputsOf(t *testing.T, root string) string {
	t.Helper()
	var out, notes bytes.Buffer
	if err := run(root, "", &out, &notes); err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(out.String()), " ")
}

// Committed and uncommitted files of a branch count, and on main those of the last commit.
func TestChangesSinceTheBase(t *testing.T) {
	root, git := checkout(t)
	if got := inputsOf(t, root); got != "." {
		t.Errorf("the first commit: %s", got)
	}
	git("checkout", "--quiet", "-b", "work")
	write(t, root, "README.md", "b\n")
	git("commit", "--quiet", "--all", "--message=second")
	write(t, root, "new file.txt", "c\n")
	if got := inputsOf(t, root); got != "README.md new file.txt" {
		t.Errorf("on a branch: %s", got)
	}
	git("add", "--all")
	git("commit", "--quiet", "--message=third")
	git("checkout", "--quiet", "main")
	git("merge", "--quiet", "--no-ff", "--no-edit", "work")
	if got := inputsOf(t, root); got != "README.md new file.txt" {
		t.Errorf("a merge on main: %s", got)
	}
}

// Without enough history, everything has changed.
func TestAShallowCloneHasNoBase(t *testing.T) {
	root, git := checkout(t)
	write(t, root, "README.md", "b\n")
	git("commit", "--quiet", "--all", "--message=second")
	shallow := filepath.Join(t.TempDir(), "shallow")
	git("clone", "--quiet", "--depth=1", "file://"+root, shallow)
	if got := inputsOf(t, shallow); got != "." {
		t.Errorf("a shallow clone: %s", got)
	}
}

// A header counts as the kernels that include it, also indirectly; an input of every test counts as
// everything.
func TestHeadersReachKernels(t *testing.T) {
	root, git := checkout(t)
	git("checkout", "--quiet", "-b", "work")
	write(t, root, "cuda/include/pack.cuh", "// changed\n")
	if got := inputsOf(t, root); got != "cuda/include/pack.cuh cuda/kernels/a.cu" {
		t.Errorf("a header: %s", got)
	}
	write(t, root, "go.mod", "module x\n")
	if got := inputsOf(t, root); !strings.HasSuffix(got, " .") {
		t.Errorf("go.mod: %s", got)
	}
}

// The search ends although headers include each other.
func TestHeadersInACircle(t *testing.T) {
	files := fstest.MapFS{
		"cuda/include/a.cuh": {Data: []byte("#include \"b.cuh\"\n")},
		"cuda/include/b.cuh": {Data: []byte("#include \"a.cuh\"\n")},
		"cuda/kernels/x.cu":  {Data: []byte("#include \"a.cuh\"\n")},
	}
	got, err := withKernels(files, []string{"cuda/include/b.cuh"})
	if want := "cuda/include/b.cuh cuda/kernels/x.cu"; err != nil || strings.Join(got, " ") != want {
		t.Errorf("%v, %v", got, err)
	}
}
