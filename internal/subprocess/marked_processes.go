package subprocess

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// marked lists the processes whose initial environment has an entry. It also finds those that left their
// parent and the group by a session of their own.
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

// killMarked kills the processes with the command's mark, until there are none or the grace period is over: a
// killed process may have started another just before. A zombie has no environment.
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
