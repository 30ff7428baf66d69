package subprocess

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// memoryGroup is a control group of the system that limits a program's memory. The system counts what the
// processes themselves do not show: shared memory, and memory files that no process has open any more.
type memoryGroup struct {
	folder string
	counts string // the file with the number of killed processes

	mu      sync.Mutex
	removed bool
	killed  bool
}

// groupVersion describes how a version of control groups limits memory.
type groupVersion struct {
	bases  []string          // where groups may be mounted
	limits []string          // files that take a number of bytes; the first is always there
	also   map[string]string // optional files, and what is written into them
	counts string
}

var (
	groups1 = groupVersion{
		bases:  []string{"sys/fs/cgroup/memory"},
		limits: []string{"memory.limit_in_bytes", "memory.memsw.limit_in_bytes"},
		counts: "memory.oom_control",
	}
	groups2 = groupVersion{
		bases:  []string{"sys/fs/cgroup", "sys/fs/cgroup/unified"},
		limits: []string{"memory.max"},
		also:   map[string]string{"memory.swap.max": "0", "memory.oom.group": "1"},
		counts: "memory.events",
	}
	groupNumber atomic.Int64

	// makeGroup creates the folder of a group, in which the system then puts its files.
	makeGroup = func(folder string) error { return os.Mkdir(folder, 0o755) }
)

const groupPrefix = "triad-"

// newMemoryGroup makes a group inside the group of this process, or inside the nearest enclosing one that
// permits it; nil if none does. root is the root of the file system.
func newMemoryGroup(root string, bytes int64) *memoryGroup {
	text, err := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		// "0::/group" of version 2, "4:memory:/group" of version 1
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		version := groups1
		if fields[0] == "0" && fields[1] == "" {
			version = groups2
		} else if !strings.Contains(","+fields[1]+",", ",memory,") {
			continue
		}
		for _, base := range version.bases {
			if g := version.within(filepath.Join(root, base), fields[2], bytes); g != nil {
				return g
			}
		}
	}
	return nil
}

// within makes a group below base, as close as possible to the group of this process.
func (v groupVersion) within(base, own string, bytes int64) *memoryGroup {
	for at := filepath.Join("/", own); ; at = filepath.Dir(at) {
		if g := v.in(filepath.Join(base, at), bytes); g != nil || at == "/" {
			return g
		}
	}
}

// in makes a group inside another; nil if that is not permitted, or if memory is not counted.
func (v groupVersion) in(around string, bytes int64) *memoryGroup {
	if _, err := os.Stat(filepath.Join(around, "cgroup.procs")); err != nil { // it is no group
		return nil
	}
	removeEmptyGroups(around)
	name := fmt.Sprintf("%s%d-%d", groupPrefix, os.Getpid(), groupNumber.Add(1))
	g := &memoryGroup{folder: filepath.Join(around, name), counts: v.counts}
	if makeGroup(g.folder) != nil {
		return nil
	}
	limit := strconv.FormatInt(bytes, 10)
	for i, file := range v.limits {
		at := filepath.Join(g.folder, file)
		if _, err := os.Stat(at); err != nil && i > 0 {
			continue
		}
		if err := writeExisting(at, limit); err != nil {
			_ = os.Remove(g.folder)
			return nil
		}
	}
	for file, value := range v.also {
		_ = writeExisting(filepath.Join(g.folder, file), value) // a system without swap lacks that of swap
	}
	return g
}

// writeExisting writes into a file that the system maintains.
func writeExisting(path, text string) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}

// removeEmptyGroups removes the groups that a killed triad left. The system removes no group that holds a
// process. The group of a running triad stays: it may just have been made.
func removeEmptyGroups(around string) {
	left, _ := filepath.Glob(filepath.Join(around, groupPrefix+"*"))
	for _, folder := range left {
		owner, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(folder), groupPrefix), "-")
		if _, err := os.Stat("/proc/" + owner); os.IsNotExist(err) {
			_ = os.Remove(folder)
		}
	}
}

// joined returns a command that runs a program in the group. Where the system does not let it join, the
// program runs all the same: the driver counts what it sees.
func (g *memoryGroup) joined(path string, args []string) (string, []string) {
	const join = `echo $$ 2>/dev/null >"$0" || :; exec "$@"`
	return "/bin/sh", append([]string{"-c", join, filepath.Join(g.folder, "cgroup.procs"), path}, args...)
}

// hasKilled reports whether the system killed a process of the group because the group was full.
func (g *memoryGroup) hasKilled() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.look()
}

func (g *memoryGroup) look() bool {
	if g.removed {
		return g.killed
	}
	text, _ := os.ReadFile(filepath.Join(g.folder, g.counts))
	for line := range strings.Lines(string(text)) {
		if n, is := strings.CutPrefix(strings.TrimSpace(line), "oom_kill "); is && n != "0" {
			g.killed = true
		}
	}
	return g.killed
}

// remove removes the group once its processes have ended, which may take a moment longer than the program.
func (g *memoryGroup) remove() {
	for range 20 {
		g.mu.Lock()
		g.look()
		g.removed = g.removed || os.Remove(g.folder) == nil
		done := g.removed
		g.mu.Unlock()
		if done {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}
