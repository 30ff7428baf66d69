package subprocess

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Memory that no process shows as its own counts: memory files that were only written to.
func TestMemoryFilesCount(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 on the PATH")
	}
	const script = `import os, sys, time
files = [os.memfd_create("a") for _ in range(4)]
for i in range(300):
    os.write(files[i % 4], b"x" * (1 << 20))
time.sleep(60)`
	began := time.Now()
	p, err := Start(Command{Path: python, Args: []string{"-c", script}, Most: Usage{Bytes: 128 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.End()
	if !p.Wait(40 * time.Second) {
		t.Fatal("it was not ended")
	}
	if got := p.Exceeded(); !strings.Contains(got, "of memory, and may use") {
		t.Errorf("%q after %v", got, time.Since(began))
	}
}

// The driver's own count, used alone where no control group can be made, sees open memory files, each once.
func TestMemoryOfOpenFiles(t *testing.T) {
	before := memoryOf([]int{os.Getpid()})
	fd, err := unix.MemfdCreate("counted", 0)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), "counted")
	defer file.Close()
	if _, err := file.Write(make([]byte, 64<<20)); err != nil {
		t.Fatal(err)
	}
	again, err := unix.Dup(fd)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(again)
	more := memoryOf([]int{os.Getpid()}) - before
	if more < 60<<20 || more > 100<<20+64<<20 {
		t.Errorf("64 MiB count as %d MiB", more>>20)
	}
}

// A group of version 2 is made where memory is counted below a group: in that of this process, or in an
// enclosing one; where none counts it there is no group, and nothing is left behind.
func TestGroupAroundThisProcess(t *testing.T) {
	for _, c := range []struct{ counting, want string }{
		{"user/app", "user/app"}, {"user", "user"}, {"", ""},
	} {
		root := t.TempDir()
		base := filepath.Join(root, "sys/fs/cgroup")
		err := errors.Join(os.MkdirAll(filepath.Join(root, "proc/self"), 0o755),
			os.WriteFile(filepath.Join(root, "proc/self/cgroup"), []byte("0::/user/app\n"), 0o644),
			os.MkdirAll(filepath.Join(base, "user/app"), 0o755))
		for _, group := range []string{"", "user", "user/app"} {
			err = errors.Join(err, os.WriteFile(filepath.Join(base, group, "cgroup.procs"), nil, 0o644))
		}
		if err != nil {
			t.Fatal(err)
		}
		mkdir := makeGroup
		makeGroup = func(folder string) error { // as the system does
			err := mkdir(folder)
			if c.counting != "" && filepath.Dir(folder) == filepath.Join(base, c.counting) {
				limit := filepath.Join(folder, "memory.max")
				err = errors.Join(err, os.WriteFile(limit, []byte("max"), 0o644))
			}
			return err
		}
		g := newMemoryGroup(root, 1<<20)
		makeGroup = mkdir
		if c.want == "" {
			if g != nil {
				t.Errorf("a group in %s, where nothing counts memory", g.folder)
			}
		} else if g == nil || filepath.Dir(g.folder) != filepath.Join(base, c.want) {
			t.Errorf("a group in %+v, want one in %s", g, c.want)
		} else if text, err := os.ReadFile(filepath.Join(g.folder, "memory.max")); err != nil ||
			string(text[:7]) != "1048576" {
			t.Errorf("its limit is %q, %v", text, err)
		}
		for _, group := range []string{"", "user", "user/app"} {
			left, _ := filepath.Glob(filepath.Join(base, group, groupPrefix+"*"))
			if len(left) > 0 && group != c.want {
				t.Errorf("%v is left", left)
			}
		}
	}
}

// The kernel's counter shows whether a process of the group was killed for its memory.
func TestGroupHasKilled(t *testing.T) {
	for text, want := range map[string]bool{
		"low 0\nmax 9\noom 1\noom_kill 0\n": false, "oom 1\noom_kill 2\n": true,
		"oom_kill_disable 0\nunder_oom 0\noom_kill 1\n": true, "": false,
	} {
		g := &memoryGroup{folder: t.TempDir(), counts: "memory.events"}
		if err := os.WriteFile(filepath.Join(g.folder, g.counts), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := g.hasKilled(); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
