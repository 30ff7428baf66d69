package fileversion

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"triad/internal/need"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A change of the file or of a file that it includes with quotes changes the hash; a circle of includes ends.
func TestHashFollowsIncludes(t *testing.T) {
	folder := t.TempDir()
	kernel, part := filepath.Join(folder, "mine.cu"), filepath.Join(folder, "part.cuh")
	write(t, kernel, "#include \"part.cuh\"\n#include <cuda_fp16.h>\n#include \"missing.cuh\"\n")
	write(t, part, "#include \"mine.cu\"\nint a;\n")
	first := Hash(nil, kernel)
	if first != Hash(nil, kernel) || len(first) != 32 {
		t.Errorf("the hash of one version is %s, then %s", first, Hash(nil, kernel))
	}
	write(t, part, "#include \"mine.cu\"\nint b;\n")
	second := Hash(nil, kernel)
	if second == first {
		t.Error("an included file changed and the hash did not")
	}
	write(t, kernel, "#include \"part.cuh\"\n")
	if Hash(nil, kernel) == second {
		t.Error("the file changed and the hash did not")
	}
}

// commit makes a folder a repository whose first commit has one file.
func commit(t *testing.T, folder, file string) {
	t.Helper()
	for _, args := range [][]string{
		{"init", "-q"},
		{"add", file},
		{"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "first"},
	} {
		out, err := exec.Command("git", append([]string{"-C", folder}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
}

// The commit is that of the file, and an edit since then is noted.
func TestCommitOfAFile(t *testing.T) {
	need.Tool(t, "git")
	folder := t.TempDir()
	file := filepath.Join(folder, "mine.cu")
	write(t, file, "int a;\n")
	if got := Commit(t.Context(), file); got != "" {
		t.Errorf("outside of a repository: %q, want nothing", got)
	}
	commit(t, folder, "mine.cu")
	committed := Commit(t.Context(), file)
	if !strings.HasPrefix(committed, ", commit ") || strings.Contains(committed, "changed") {
		t.Errorf("as committed: %q", committed)
	}
	write(t, file, "int b;\n")
	if got := Commit(t.Context(), file); got != committed+", changed since" {
		t.Errorf("edited: %q, want %q", got, committed+", changed since")
	}
}

// The commit that is checked out, and whether tracked files were changed since.
func TestHeadOfARepository(t *testing.T) {
	need.Tool(t, "git")
	folder := t.TempDir()
	file := filepath.Join(folder, "mine.cu")
	write(t, file, "int a;\n")
	if got := Head(t.Context(), folder); got != "" {
		t.Errorf("outside of a repository: %q, want nothing", got)
	}
	commit(t, folder, "mine.cu")
	committed := Head(t.Context(), folder)
	if len(committed) != 40 {
		t.Errorf("the commit is %q, want 40 digits", committed)
	}
	write(t, filepath.Join(folder, "beside.cu"), "")
	if got := Head(t.Context(), folder); got != committed {
		t.Errorf("with an untracked file: %q, want %q", got, committed)
	}
	write(t, file, "int b;\n")
	if got := Head(t.Context(), folder); got != committed+"+changes" {
		t.Errorf("after an edit: %q", got)
	}
	if calls := callsOfGit(t, func() { Head(t.Context(), folder) }); len(calls) != 1 {
		t.Errorf("git is asked %q, want one question", calls)
	}
}

// A repository without a commit has none to name.
func TestHeadBeforeTheFirstCommit(t *testing.T) {
	folder := t.TempDir()
	if out, err := exec.Command(need.Tool(t, "git"), "init", "-q", folder).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
	if got := Head(t.Context(), folder); got != "" {
		t.Errorf("before the first commit: %q, want nothing", got)
	}
}

// callsOfGit lists the git commands that f runs.
func callsOfGit(t *testing.T, f func()) []string {
	t.Helper()
	git, folder := need.Tool(t, "git"), t.TempDir()
	log, first := filepath.Join(folder, "log"), filepath.Join(folder, "git")
	write(t, first, "#!/bin/sh\necho \"$@\" >> '"+log+"'\nexec '"+git+"' \"$@\"\n")
	if err := os.Chmod(first, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	f()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}
