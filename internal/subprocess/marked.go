package subprocess

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// marked lists the processes that have an entry in the environment with which they were started. What made a
// session of its own is found too, though it has left its parent and the group.
func marked(entry string) (pids []int) {
	for _, pid := range processes() {
		environment, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
		if err == nil && pid != os.Getpid() && hasEntry(environment, entry) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func hasEntry(environment []byte, entry string) bool {
	for part := range bytes.SplitSeq(environment, []byte{0}) {
		if string(part) == entry {
			return true
		}
	}
	return false
}

// killMarked kills what has the mark of the command, until nothing has it or the grace period is over: what
// is killed may have started another just before. A zombie has no environment.
func (p *Process) killMarked() {
	if p.command.Mark == "" {
		return
	}
	const pause = 10 * time.Millisecond
	for end := time.Now().Add(p.command.Grace.Kill); time.Now().Before(end); time.Sleep(pause) {
		left := marked(p.command.Mark)
		if len(left) == 0 {
			return
		}
		for _, pid := range left {
			_ = p.command.Kill(pid, syscall.SIGKILL)
		}
	}
}
