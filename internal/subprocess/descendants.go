package subprocess

import (
	"os"
	"strconv"
	"strings"
	"sync"
)

// descendants lists the processes that a process started, what these started, and so on, according to /proc.
// It misses a process whose parent has ended.
func descendants(root int) []int {
	children := map[int][]int{}
	for _, pid := range processes() {
		if parent := parentOf(pid); parent > 0 {
			children[parent] = append(children[parent], pid)
		}
	}
	var all []int
	for next := children[root]; len(next) > 0; next = next[1:] {
		all = append(all, next[0])
		next = append(next, children[next[0]]...)
	}
	return all
}

// family is descendants where this system lists the children of each process: it reads no others, of which a
// machine may have many.
func family(root int) (all []int) {
	for next := []int{root}; len(next) > 0; next = next[1:] {
		threads, _ := os.ReadDir("/proc/" + strconv.Itoa(next[0]) + "/task")
		for _, thread := range threads {
			of := "/proc/" + strconv.Itoa(next[0]) + "/task/" + thread.Name()
			listed, err := os.ReadFile(of + "/children")
			if os.IsNotExist(err) && next[0] == root && lists() != nil {
				return descendants(root)
			}
			for _, word := range strings.Fields(string(listed)) {
				if pid, err := strconv.Atoi(word); err == nil {
					all, next = append(all, pid), append(next, pid)
				}
			}
		}
	}
	return all
}

// lists returns an error if this system does not list the children of a process.
var lists = sync.OnceValue(func() error {
	_, err := os.ReadFile("/proc/thread-self/children")
	return err
})

// processes lists the processes in /proc; it is empty without /proc.
func processes() (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// parentOf returns the parent of a process; 0 if the process has ended.
func parentOf(pid int) int {
	fields := statOf(pid)
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(fields[1])
	return parent
}

// statOf returns the state of a process, its parent and the further fields of /proc; nil if it has ended.
func statOf(pid int) []string {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	// "pid (name) state parent ...": the name may hold anything
	return strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
}
