package subprocess

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"triad/internal/panics"
)

// Usage is what a program and all that it started use together; 0 is no limit.
type Usage struct {
	Processes int
	Bytes     int64 // of memory that is not shared
}

// watchEvery is how often the usage of a program is read.
const watchEvery = 50 * time.Millisecond

// watch ends the process where it uses more than its command permits, and keeps a sentence that says so.
func (p *Process) watch() {
	most := p.command.Most
	if most == (Usage{}) {
		return
	}
	panics.Go(func() {
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		for {
			select {
			case <-p.exited:
				return
			case <-tick.C:
			}
			all := append([]int{p.PID()}, descendants(p.PID())...)
			why := ""
			if most.Processes > 0 && len(all) > most.Processes {
				why = fmt.Sprintf("it had %d processes, and may have %d", len(all), most.Processes)
			} else if n := anonymousBytes(all); most.Bytes > 0 && n > most.Bytes {
				why = fmt.Sprintf("it used %.1f GiB of memory, and may use %.1f", float64(n)/(1<<30),
					float64(most.Bytes)/(1<<30))
			}
			if why != "" {
				p.exceeded.Store(&why)
				p.signal(syscall.SIGKILL)
				return
			}
		}
	}, func(error) {})
}

// Exceeded says what a process used too much of, and was killed for; "" where it was not.
func (p *Process) Exceeded() string {
	if why := p.exceeded.Load(); why != nil {
		return *why
	}
	return ""
}

// anonymousBytes is the memory of processes that no file stands behind.
func anonymousBytes(pids []int) (all int64) {
	for _, pid := range pids {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
		if err != nil {
			continue
		}
		_, after, found := strings.Cut(string(text), "\nRssAnon:")
		if fields := strings.Fields(after); found && len(fields) > 0 {
			n, _ := strconv.ParseInt(fields[0], 10, 64)
			all += n << 10
		}
	}
	return all
}
