package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"triad/internal/need"
)

// inside runs a shell command in a sandbox, and returns its output.
func inside(t *testing.T, box Box, command string) string {
	t.Helper()
	need.Tool(t, "bwrap")
	s, err := Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	path, args := s.Wrap("/bin/sh", []string{"-c", command}, box)
	cmd := exec.Command(path, args...)
	cmd.Env = append([]string{"PATH=/usr/bin:/bin"}, Environment()...)
	out, _ := cmd.CombinedOutput() // the message of a refused command
	return strings.TrimSpace(string(out))
}

// A program sees only what its box names, read-only.
func TestABoxShowsWhatItNames(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{"seen": "here", "hidden": "secret", "masked": "numbers"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(folder, "link")
	if err := os.Symlink(filepath.Join(folder, "seen"), link); err != nil {
		t.Fatal(err)
	}
	seen, hidden, masked := filepath.Join(folder, "seen"), filepath.Join(folder, "hidden"),
		filepath.Join(folder, "masked")
	for _, c := range []struct {
		box     Box
		command string
		want    string
	}{
		{Box{ReadOnly: []string{seen}}, "cat " + seen, "here"},
		{Box{ReadOnly: []string{seen}}, "cat " + hidden, "No such file"},
		{Box{ReadOnly: []string{seen}}, "echo x > " + seen, "Read-only file system"},
		{Box{ReadOnly: []string{folder}, Masked: []string{masked}}, "cat " + masked + "; echo end", "end"},
		{Box{ReadOnly: []string{folder, link}}, "cat " + link, "here"},
		{Box{ReadOnly: []string{filepath.Join(folder, "none")}}, "echo still", "still"},
		{Box{Empty: []string{folder}}, "ls -A " + folder + "; echo x > " + hidden + " && cat " + hidden, "x"},
		{Box{}, "echo x > /usr/x", "Read-only file system"},
		{Box{}, "echo x > /x", "Read-only file system"},
		{Box{}, "ls -A ~ | wc -l", "0"},
		{Box{}, "echo x > ~/x; cat ~/x", "x"},
		{Box{}, "cat /etc/shadow", "No such file"},
		{Box{}, "ls /proc | grep -c '^[0-9]'", "5"},
		{Box{}, "grep -c : /proc/net/dev", "1"}, // only lo
		{Box{}, "unshare -U true", "unshare"},
	} {
		got := inside(t, c.box, c.command)
		if c.command == "ls /proc | grep -c '^[0-9]'" { // bubblewrap, the shell, ls, grep
			if len(got) != 1 || got > c.want {
				t.Errorf("%s: %q processes, want at most %s", c.command, got, c.want)
			}
			continue
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.command, got, c.want)
		}
	}
	if text, err := os.ReadFile(hidden); err != nil || string(text) != "secret" {
		t.Errorf("the hidden file is %q (%v)", text, err)
	}
}

func TestLimitsThatAreNone(t *testing.T) {
	for _, words := range []string{"speed=1", "core", "core=x", "core=-1"} {
		if err := LimitSelf(func(string) string { return words }); err == nil {
			t.Errorf("%q is taken", words)
		}
	}
	if err := LimitSelf(func(string) string { return "" }); err != nil {
		t.Error(err)
	}
}
