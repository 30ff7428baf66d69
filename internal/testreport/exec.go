package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"triad/internal/subprocess"
)

// costsFile names the file that execTest appends to: one cost a line.
const costsFile = "TRIAD_TEST_COSTS"

// coverFolder names the folder for the coverage of the processes that a test binary starts.
const coverFolder = "TRIAD_TEST_COVER"

// hangLimit names the wall time without any event after which a test counts as hanging: "10m".
const hangLimit = "TRIAD_TEST_HANG"

// cost is the processor time of a package's tests, or of one of them, children included.
type cost struct {
	Folder           string  `json:"folder"`         // of the package, absolute
	Test             string  `json:"test,omitempty"` // of the top level; "" for the whole package
	ProcessorSeconds float64 `json:"processor_seconds"`
}

// execTest runs a test binary for go test -exec. It records the processor time of the tests, which go test
// -json does not know, and ends a test that hangs: the binary prints its goroutines, the test counts as
// failed under its own name, and the package's other tests continue in a new process.
func execTest(args []string, stdout io.Writer) (int, error) {
	folder, err := os.Getwd()
	if err != nil {
		return 1, err
	}
	limit := 10 * time.Minute
	if text := os.Getenv(hangLimit); text != "" {
		if limit, err = time.ParseDuration(text); err != nil {
			return 1, fmt.Errorf("%s: %w", hangLimit, err)
		}
	}
	w := &watched{out: stdout, folder: folder, limit: limit}
	code, err := w.run(args)
	var usage syscall.Rusage
	if e := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &usage); e != nil {
		return 1, e
	}
	w.costs = append(w.costs, cost{
		Folder: folder, ProcessorSeconds: seconds(usage.Utime) + seconds(usage.Stime),
	})
	return code, errors.Join(err, w.record())
}

func seconds(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }

// watched follows the output of a test binary.
type watched struct {
	out    io.Writer
	folder string
	limit  time.Duration

	mu      sync.Mutex
	line    []byte
	running map[string]time.Time // the current tests, with the time of their last event
	logging string               // the test whose log lines are printed now
	ended   []string             // the tests of the top level that ended
	costs   []cost
	pid     int
	spent   float64 // processor seconds of pid at the end of the last test of the top level
	atEnd   use     // of pid, once it has ended
}

// use holds the figures of a process and of the children that it waited for.
type use struct {
	seconds  float64 // of processor time
	children bool    // it had some
}

// run runs the binary, and after a hang its other tests.
func (w *watched) run(args []string) (int, error) {
	worst := 0
	for {
		code, hung, err := w.once(args)
		if err != nil {
			return 1, err
		}
		if hung == "" {
			return max(worst, code), nil
		}
		worst = 1
		top, _, _ := strings.Cut(hung, "/")
		args = skipping(args, append(w.ended, top))
	}
}

// skipping adds tests to the binary's -test.skip pattern.
func skipping(args, tests []string) []string {
	const flag = "-test.skip="
	pattern := "^(" + strings.Join(tests, "|") + ")$"
	var out []string
	for _, a := range args {
		if old, found := strings.CutPrefix(a, flag); found && old != "" {
			pattern = "(" + old + ")|" + pattern
		} else if !found {
			out = append(out, a)
		}
	}
	return append(out, flag+pattern)
}

// once runs the binary to its end, or until a test hangs, whose name it returns.
func (w *watched) once(args []string) (code int, hung string, err error) {
	w.running, w.logging, w.line, w.spent, w.atEnd = map[string]time.Time{}, "", nil, 0, use{}
	args, list := logged(args)
	c := subprocess.Command{
		Path: args[0], Args: args[1:], Stdin: os.Stdin, Stdout: w, Stderr: w, // go test shows both as one
		Ended: w.end,
	}
	if folder := os.Getenv(coverFolder); folder != "" { // go test removes GOCOVERDIR
		c.Env = append(os.Environ(), "GOCOVERDIR="+folder)
	}
	child, err := subprocess.Start(c)
	if err != nil {
		return 1, "", err
	}
	defer child.End()
	w.mu.Lock()
	w.pid = child.PID()
	w.mu.Unlock()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)
	defer signal.Stop(signals)
	tick := time.NewTicker(w.limit / 20)
	defer tick.Stop()
	late := ""
	for {
		select {
		case <-child.Exited():
			if hung != "" {
				w.reportHang(hung)
			}
			if sentence, _ := child.Exit(); sentence != "exited 0" {
				code = 1
			}
			keepResult(args[0], list, w.atEnd.children)
			return code, hung, nil
		case s := <-signals:
			_ = syscall.Kill(child.PID(), s.(syscall.Signal))
		case now := <-tick.C:
			// This process may itself have waited for a core, with events of the test unread. By the next
			// tick it has read them.
			name := w.hanging(now)
			if name != "" && name == late && hung == "" {
				hung = name
				_ = syscall.Kill(child.PID(), syscall.SIGQUIT) // the runtime prints every goroutine
			}
			late = name
		}
	}
}

// hanging returns the innermost test without any event for longer than the limit.
func (w *watched) hanging(now time.Time) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	worst := ""
	for name, since := range w.running {
		if now.Sub(since) > w.limit && len(name) > len(worst) {
			worst = name
		}
	}
	return worst
}

// reportHang prints the hung test, and every test that it is part of, as failed, like the testing package.
func (w *watched) reportHang(name string) {
	fmt.Fprintf(w.out,
		"\n    %s: neither ended, began nor logged anything for %v: it hangs; its goroutines stand above\n",
		name, w.limit)
	for {
		fmt.Fprintf(w.out, "\x16--- FAIL: %s (%.2fs)\n", name, w.limit.Seconds())
		cut := strings.LastIndexByte(name, '/')
		if cut < 0 {
			return
		}
		name = name[:cut]
	}
}

// Write passes on the binary's output and reads from it which tests run.
func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	rest := append(w.line, p...)
	for {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		if !whole {
			break
		}
		w.follow(string(line))
		rest = after
	}
	w.line = append([]byte(nil), rest...)
	w.mu.Unlock()
	return w.out.Write(p)
}

// logLine matches a line that t.Log printed.
var logLine = regexp.MustCompile(`^ {4}\w+\.go:\d+: `)

// follow parses one line. With -json go test makes the binary mark its own lines by 0x16.
func (w *watched) follow(line string) {
	_, own, marked := strings.Cut(line, "\x16")
	words := strings.Fields(own)
	if !marked && logLine.MatchString(line) {
		w.touch(w.logging + "/")
	}
	if !marked || len(words) < 3 {
		return
	}
	name := words[2]
	switch words[0] + " " + words[1] {
	case "=== NAME":
		w.logging = name
	case "=== RUN", "=== CONT":
		w.logging = name
		w.touch(name)
		w.running[name] = time.Now()
	case "=== PAUSE": // until tests that are not parallel have ended
		delete(w.running, name)
	case "--- PASS:", "--- FAIL:", "--- SKIP:":
		delete(w.running, name)
		w.touch(name)
		if !strings.Contains(name, "/") {
			w.ended = append(w.ended, name)
			spent := max(w.used(), w.spent)
			w.costs = append(w.costs, cost{Folder: w.folder, Test: name, ProcessorSeconds: spent - w.spent})
			w.spent = spent
		}
	}
}

// touch records an event in a test and in the tests that it is part of.
func (w *watched) touch(name string) {
	for cut := strings.LastIndexByte(name, '/'); cut > 0; cut = strings.LastIndexByte(name[:cut], '/') {
		if _, here := w.running[name[:cut]]; here {
			w.running[name[:cut]] = time.Now()
		}
	}
}

// end records what the process has used: its last lines may be read after it was reaped.
func (w *watched) end(pid int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.atEnd = useOf(pid)
}

// used returns the processor seconds of the process so far.
func (w *watched) used() float64 {
	if w.atEnd.seconds > 0 {
		return w.atEnd.seconds
	}
	return useOf(w.pid).seconds
}

// useOf returns what a process has used so far, nothing if it was reaped.
func useOf(pid int) use {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return use{}
	}
	_, after, _ := strings.Cut(string(text), ") ") // the name of the program may hold spaces
	fields := strings.Fields(after)
	// indices of the fields behind the name: the page faults of children, of which each has some, and the
	// four times; Linux shows clock ticks of 10 ms
	const faults, utime, cstime, perSecond = 8, 11, 14, 100
	if len(fields) <= cstime {
		return use{}
	}
	u := use{children: fields[faults] != "0"}
	for _, field := range fields[utime : cstime+1] {
		ticks, _ := strconv.ParseFloat(field, 64)
		u.seconds += ticks / perSecond
	}
	return u
}

// record appends the costs to the file that the environment names.
func (w *watched) record() error {
	path := os.Getenv(costsFile)
	if path == "" {
		return nil
	}
	var lines bytes.Buffer
	for _, c := range w.costs {
		line, err := json.Marshal(c)
		if err != nil {
			return err
		}
		lines.Write(append(line, '\n'))
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(lines.Bytes()) // one write: packages end concurrently
	return errors.Join(err, file.Close())
}
