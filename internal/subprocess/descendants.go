package subprocess

import (
	"os"
	"strconv"
	"strings"
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
