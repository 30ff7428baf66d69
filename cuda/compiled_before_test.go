package cuda

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// The tests keep what they compile in the user's cache, by a hash of all that the compiler reads: it takes
// most of their time.

// keptFor limits how long something is kept after its last use.
const keptFor = 7 * 24 * time.Hour

// keptFolder returns the folder of what the tests compiled.
func keptFolder() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(cache, "triad", "emulated")
	return folder, os.MkdirAll(folder, 0o755)
}

// sourcesHash hashes all that programs of the tests may include, from the working directory.
var sourcesHash = sync.OnceValues(func() (string, error) {
	return hashOf(".", func(name string) bool {
		return slices.Contains([]string{".h", ".cuh", ".cu", ".cc"}, filepath.Ext(name))
	})
})

// hashOf hashes the names and contents of the chosen files at and below a path.
func hashOf(root string, chosen func(name string) bool) (string, error) {
	h := sha256.New()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || !chosen(path) {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(root, path)
		fmt.Fprintf(h, "%s %d\n%s", name, len(text), text)
		return err
	})
	return hex.EncodeToString(h.Sum(nil)), err
}

// compilerVersion returns what a compiler says of itself.
func compilerVersion(path string) (string, error) {
	known, _ := compilerVersions.LoadOrStore(path, sync.OnceValues(func() (string, error) {
		out, err := exec.Command(path, "--version").Output()
		return string(out), err
	}))
	return known.(func() (string, error))()
}

var compilerVersions sync.Map

// key returns the hash of a compilation. Files and folders of a test, which are new in each run, count by
// their contents.
func (e *emulated) key(args []string) (string, error) {
	sources, err := sourcesHash()
	version, failed := compilerVersion(e.compiler)
	if err = errors.Join(err, failed); err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n%s\n%q\n", sources, e.compiler, version, e.flags)
	temporary := filepath.Clean(os.TempDir()) + string(filepath.Separator)
	for i, arg := range args {
		switch {
		case i > 0 && args[i-1] == "-o":
			arg = "the output"
		case strings.HasPrefix(arg, temporary):
			if arg, err = contentsOf(arg); err != nil {
				return "", err
			}
		}
		fmt.Fprintf(h, "%q\n", arg)
	}
	return hex.EncodeToString(h.Sum(nil))[:32], nil
}

// contentsOf returns a hash that stands for a folder, or for a file with the headers beside it.
func contentsOf(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if info.IsDir() {
		return hashOf(path, func(string) bool { return true })
	}
	return hashOf(filepath.Dir(path), func(name string) bool {
		return name == path || slices.Contains([]string{".h", ".cuh"}, filepath.Ext(name))
	})
}

// compile runs the compiler, unless what it would write was kept.
func (e *emulated) compile(args ...string) error {
	base, err := keptFolder()
	key, failed := e.key(args)
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	kept, target := filepath.Join(base, key), args[slices.Index(args, "-o")+1]
	if copied(kept, target) == nil {
		now := time.Now()
		return os.Chtimes(kept, now, now)
	}
	command := exec.Command(e.compiler, append(slices.Clone(e.flags), args...)...)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", e.compiler, strings.Join(command.Args[1:], " "), err, out)
	}
	return copied(target, kept)
}

// copied copies a program, whole or not at all.
func copied(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	part, err := os.CreateTemp(filepath.Dir(to), "part")
	if err != nil {
		return err
	}
	_, err = part.Write(text)
	err = errors.Join(err, part.Chmod(0o755), part.Close())
	if err == nil {
		err = os.Rename(part.Name(), to)
	}
	if err != nil {
		_ = os.Remove(part.Name())
	}
	return err
}

// removeUnused removes what no test has used for long.
func removeUnused(now time.Time) error {
	base, err := keptFolder()
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(base)
	for _, entry := range entries {
		if info, gone := entry.Info(); gone == nil && now.Sub(info.ModTime()) > keptFor {
			err = errors.Join(err, os.RemoveAll(filepath.Join(base, entry.Name())))
		}
	}
	return err
}

// TestCompiledBefore: a program that was kept is copied, and any change of what the compiler reads compiles
// it anew.
func TestCompiledBefore(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	folder, include := t.TempDir(), t.TempDir()
	unit, target := filepath.Join(folder, "unit.cc"), filepath.Join(folder, "unit")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	compiler := filepath.Join(folder, "compiler") // writes how often it ran
	write(compiler, "#!/bin/sh\n[ $1 = --version ] && exit\necho >> '"+folder+"/runs'\n"+
		"for last; do true; done\nwc -l < '"+folder+"/runs' > $last\n")
	if err := os.Chmod(compiler, 0o755); err != nil {
		t.Fatal(err)
	}
	write(unit, "int main() {}")
	write(filepath.Join(include, "a.cuh"), "1")
	compiled := func(flag string) string {
		t.Helper()
		e := &emulated{compiler: compiler, flags: []string{flag}}
		if err := e.compile("-I", include, unit, "-o", target); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(target)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(text))
	}
	for i, c := range []struct {
		change func()
		flag   string
		want   string
	}{
		{func() {}, "-O1", "1"},
		{func() {}, "-O1", "1"},
		{func() {}, "-O2", "2"},
		{func() { write(unit, "int main() { return 1; }") }, "-O1", "3"},
		{func() { write(filepath.Join(include, "a.cuh"), "2") }, "-O1", "4"},
		{func() { write(filepath.Join(include, "a.cuh"), "1") }, "-O1", "3"},
		{func() {
			if err := removeUnused(time.Now().Add(2 * keptFor)); err != nil {
				t.Fatal(err)
			}
		}, "-O1", "5"},
	} {
		c.change()
		if got := compiled(c.flag); got != c.want {
			t.Errorf("step %d: run %s of the compiler, want %s", i, got, c.want)
		}
	}
}
