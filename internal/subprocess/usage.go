package subprocess

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"triad/internal/panics"
)

// Usage is the use of a program together with all that it started; 0 is no limit.
type Usage struct {
	Processes int
	Bytes     int64 // of memory, including memory files and shared memory
}

// limited returns the command of a process. If its memory is limited, it runs in a control group where this
// system permits one.
func (p *Process) limited() (path string, args []string) {
	c := p.command
	if c.Most.Bytes <= 0 {
		return c.Path, c.Args
	}
	whole, err := exec.LookPath(c.Path)
	if _, sh := os.Stat("/bin/sh"); err != nil || sh != nil {
		return c.Path, c.Args
	}
	if p.group = newMemoryGroup("/", c.Most.Bytes); p.group == nil {
		return c.Path, c.Args
	}
	return p.group.joined(whole, c.Args)
}

// watchEvery is the interval between readings of a program's usage.
const watchEvery = 50 * time.Millisecond

// watch kills the process if it uses more than its command permits, and stores a sentence about it.
func (p *Process) watch() {
	most := p.command.Most
	if most == (Usage{}) {
		return
	}
	panics.Go(func() {
		if p.group != nil {
			defer p.group.remove()
		}
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		for {
			select {
			case <-p.exited:
				return
			case <-tick.C:
			}
			all := append([]int{p.PID()}, family(p.PID())...)
			why := ""
			if most.Processes > 0 && len(all) > most.Processes {
				why = fmt.Sprintf("it had %d processes, and may have %d", len(all), most.Processes)
			} else if n := memoryOf(all); most.Bytes > 0 && n > most.Bytes {
				why = fmt.Sprintf("it used %.1f GiB of memory, and may use %.1f", float64(n)/(1<<30),
					float64(most.Bytes)/(1<<30))
			} else if p.group != nil && p.group.hasKilled() { // the system ended a part of it
				why = p.usedAll()
			}
			if why != "" {
				p.exceeded.Store(&why)
				p.signal(syscall.SIGKILL)
				return
			}
		}
	}, func(error) {})
}

// Exceeded describes the use that a process was killed for; "" if it was not.
func (p *Process) Exceeded() string {
	if why := p.exceeded.Load(); why != nil {
		return *why
	}
	if p.group != nil && p.group.hasKilled() {
		return p.usedAll()
	}
	return ""
}

func (p *Process) usedAll() string {
	return fmt.Sprintf("it used all of %.1f GiB of memory, and may use no more",
		float64(p.command.Most.Bytes)/(1<<30))
}

// memoryOf returns the memory of processes as the system shows it: anonymous memory, and the larger of the
// shared memory files that they have open, each counted once, and the most shared memory that any of them has
// mapped.
func memoryOf(pids []int) int64 {
	anonymous, mapped, open := int64(0), int64(0), int64(0)
	files := map[[2]uint64]bool{}
	for _, pid := range pids {
		at := "/proc/" + strconv.Itoa(pid)
		text, err := os.ReadFile(at + "/status")
		if err != nil {
			continue
		}
		anonymous += kibibytes(text, "RssAnon") << 10
		if n := kibibytes(text, "RssShmem") << 10; n > 0 {
			mapped = max(mapped, n)
		}
		open += openMemory(at+"/fd", files)
	}
	return anonymous + max(mapped, open)
}

// kibibytes reads a number of /proc/PID/status.
func kibibytes(status []byte, name string) int64 {
	_, after, found := strings.Cut(string(status), "\n"+name+":")
	fields := strings.Fields(after)
	if !found || len(fields) == 0 {
		return 0
	}
	n, _ := strconv.ParseInt(fields[0], 10, 64)
	return n
}

// openMemory returns the bytes of the memory files that a process has open, without those counted before.
func openMemory(folder string, counted map[[2]uint64]bool) (bytes int64) {
	entries, _ := os.ReadDir(folder) // none for a process that has ended
	for _, e := range entries {
		at := folder + "/" + e.Name()
		name, err := os.Readlink(at)
		if err != nil || !strings.HasPrefix(name, "/memfd:") && !strings.HasPrefix(name, "/dev/shm/") {
			continue
		}
		var info syscall.Stat_t
		if syscall.Stat(at, &info) != nil || counted[[2]uint64{info.Dev, info.Ino}] {
			continue
		}
		counted[[2]uint64{info.Dev, info.Ino}] = true
		bytes += info.Blocks * 512
	}
	return bytes
}
