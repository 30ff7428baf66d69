package hosttrouble

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	// neededThreads are about those of triad, a worker with torch and a compiler on two cores. With fewer
	// Go's runtime ends the process when it cannot start a thread, which no code of ours can catch.
	neededThreads = 64
	// manyThreads: threads are only counted if the limit is below it.
	manyThreads = 4096
)

// FewThreads returns a message if the limit of this user's threads leaves too few for a run, else "".
func FewThreads() string {
	var limit unix.Rlimit
	if os.Geteuid() == 0 || unix.Getrlimit(unix.RLIMIT_NPROC, &limit) != nil { // it does not hold for root
		return ""
	}
	return fewThreads(limit.Cur, func() uint64 { return threadsOf("/proc", os.Getuid()) })
}

func fewThreads(limit uint64, used func() uint64) string {
	if limit >= manyThreads {
		return ""
	}
	n := used()
	if limit >= n+neededThreads {
		return ""
	}
	return fmt.Sprintf("this user may have %d threads (ulimit -u) and has %d: a run needs about %d more and "+
		"ends where it cannot start one; raise the limit", limit, n, neededThreads)
}

// threadsOf counts the threads of a user.
func threadsOf(proc string, user int) uint64 {
	files, _ := filepath.Glob(filepath.Join(proc, "[0-9]*", "status"))
	total := uint64(0)
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			continue // it has ended
		}
		mine, lines := false, bufio.NewScanner(file)
		for lines.Scan() {
			switch words := strings.Fields(lines.Text()); {
			case len(words) < 2:
			case words[0] == "Uid:":
				mine = words[1] == fmt.Sprint(user)
			case words[0] == "Threads:" && mine:
				n := uint64(0)
				_, _ = fmt.Sscan(words[1], &n)
				total += n
			}
		}
		file.Close()
	}
	return total
}
