package triad_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"triad/internal/need"
)

// settings lists the parts of a user's home that a new machine would also have: package indexes.
var settings = []string{
	".config/pip", ".config/uv", ".config/git", ".config/go", ".pip", ".netrc", ".gitconfig",
}

// The README's first command works in a fresh clone on a machine where nothing was built, downloaded or
// configured.
func TestFromNothing(t *testing.T) {
	need.Covers(t, "", "go.mod", "go.sum", "requirements.txt", "requirements-cuda.txt", "Makefile",
		"README.md", "embed.go", "release",
		"pybridge/environment.go", "internal/machine", "cuda/build/compiler.go")
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile(`(?m)^    (go run \./cmd/triad compare \w+) +#`).FindSubmatch(readme)
	if command == nil {
		t.Fatal("the README has no first command")
	}
	room := t.TempDir()
	t.Cleanup(func() { // Go writes a module cache without permission to remove from it
		_ = exec.Command("chmod", "-R", "u+rwX", room).Run()
	})
	clone, home := filepath.Join(room, "a clone"), filepath.Join(room, "home")
	copyCheckout(t, clone)
	for _, name := range settings {
		from := filepath.Join(os.Getenv("HOME"), name)
		if _, err := os.Stat(from); err != nil {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(home, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(from, filepath.Join(home, name)); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("sh", "-c", string(command[1]))
	cmd.Dir = clone
	cmd.Env = []string{"HOME=" + home}
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		kept := !strings.HasPrefix(name, "TRIAD_") && !strings.HasPrefix(name, "XDG_") &&
			name != "HOME" && name != "GOPATH" && name != "GOMODCACHE" && name != "GOCACHE" &&
			name != "PIP_CACHE_DIR" && name != "UV_CACHE_DIR"
		if kept {
			cmd.Env = append(cmd.Env, variable)
		}
	}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Exit 0: nothing is wrong") {
		t.Errorf("%s: %v\n%s", command[1], err, out)
	}
}

// copyCheckout copies the files that git tracks or does not ignore, as they are on disk.
func copyCheckout(t *testing.T, to string) {
	t.Helper()
	out, err := exec.Command("git", "ls-files", "-co", "--exclude-standard", "-z").Output()
	if err != nil {
		need.Missing(t, "no git checkout ("+err.Error()+"): clone the repository")
	}
	for file := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		text, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			continue // a file that git still knows may be gone
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(to, file)), 0o755); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, file), text, info.Mode()); err != nil {
			t.Fatal(err)
		}
	}
}
