package check

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"triad/internal/scratch"
	"triad/internal/subprocess"
)

// Orders lists the schedule orders in which a program runs.
var Orders = []string{"forward", "reverse", "random:1", "greedy:1", "greedy:2", "greedy:3"}

// Request describes a built program and how to run it.
type Request struct {
	Program   string
	Args      []string
	Input     []byte        // the standard input of every run
	Limit     time.Duration // of one run
	Stall     time.Duration // of a launch without a block that finishes
	Budget    time.Duration // when it is used up, further orders are skipped
	Output    io.Writer     // gets what the program prints in the first run
	Orders    []string      // a subset of the variable Orders; nil: all
	Native    bool          // not built for the emulator, so not slow
	Counts    bool          // count requests, sectors and wavefronts in the first run
	Call      string        // names this call in its findings; "" if there is only one
	Variant   string        // names the implementation in its counts; "" if there is only one
	Sanitized []Sanitized   // the same program built with sanitizers, which run after the orders
	// Locate returns the lines of addresses of the program; it omits unknown ones.
	Locate func(ctx context.Context, offsets []uint64) (map[uint64]Place, error)

	// ReturnsEarly reports whether a kernel, by its name in a launch, may end before its last line, or is
	// unknown.
	ReturnsEarly func(kernel string) bool

	environment []string // of a sanitized program, instead of the emulator's
}

// Report is the result of a check.
type Report struct {
	Findings []Finding `json:"findings"`
	Orders   []string  `json:"orders"`            // in which the program ran, to its end or a finding
	Skipped  []string  `json:"skipped,omitempty"` // for lack of time
	// orders in which the program was stopped while still working, and GPU tools that did not see its end:
	// until then only the findings had shown
	Unfinished []string `json:"unfinished,omitempty"`
	Notes      []string `json:"notes,omitempty"`  // what was left out, in sentences
	Counts     []Counts `json:"counts,omitempty"` // if Request.Counts is set

	Sanitizers []string `json:"sanitizers,omitempty"` // names of those of Request.Sanitized that ran

	stepping map[string]bool // kernels with a note about lockstep
}

// Whole reports whether the absence of findings speaks for the program: it ran to its end, and on a GPU every
// tool saw that end.
func (r *Report) Whole() bool {
	return len(r.Orders) > 0 || len(r.Sanitizers) > 0 && len(r.Unfinished) == 0
}

const (
	mostOutput = 1 << 20 // bytes of output that are shown and compared
	hangStatus = 98      // WATCHDOG_STATUS of the emulator
)

// run is one execution of the program.
type run struct {
	order    string
	findings []Finding
	skipped  []Finding // barriers that threads skipped by ending
	lockstep []Finding // lanes of a warp that rely on lockstep
	foreign  int       // lines of the findings file not from the emulator
	output   []byte
	cut      bool   // it printed more than mostOutput
	status   int    // its exit status; -1: a signal
	signal   string // that ended it
	late     bool   // stopped at the limit
	working  bool   // and its host code was then at work

	printed    []byte // the part of output that kernels printed, in the order of threads
	unfinished bool   // stopped while still working
	waits      string // what a kernel waits for in vain in the emulator; "": nothing
	memory     int64  // bytes in use when it was stopped for them; 0: it was not
	took       time.Duration
}

// Run runs the program in every order. Whatever the program does is a finding; an error is triad's own.
func Run(ctx context.Context, q Request) (*Report, error) {
	temporary, err := scratch.Make("check")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the findings: %w", err)
	}
	defer temporary.Remove()
	folder := temporary.Path
	report := &Report{Findings: []Finding{}}
	var first run
	began := time.Now()
	orders := q.Orders
	if orders == nil {
		orders = Orders
	}
	for i, order := range orders {
		if i > 0 && time.Since(began)+first.took > q.Budget {
			report.Skipped = orders[i:]
			break
		}
		r, err := q.once(ctx, folder, order)
		if err != nil {
			return nil, err
		}
		if err := report.add(ctx, q, &r); err != nil {
			return nil, err
		}
		if i == 0 {
			first = r
			if q.Counts {
				if report.Counts, err = readCounts(ctx, q, filepath.Join(folder, "counts")); err != nil {
					return nil, err
				}
				q.Counts = false // they are the same in other orders
			}
			report.notes(&r)
			if err := r.print(q.Output); err != nil {
				return nil, err
			}
			if r.unfinished || r.working {
				report.Skipped = orders[1:]
			}
			if r.late || r.memory > 0 || r.status == hangStatus || r.signal != "" {
				break
			}
			continue
		}
		if err := report.compare(ctx, q, folder, &first, &r); err != nil {
			return nil, err
		}
	}
	report.dropConsequences()
	if err := report.sanitized(ctx, q, &first); err != nil {
		return nil, err
	}
	report.sort()
	for i := range report.Findings {
		report.Findings[i].Call = q.Call
	}
	return report, nil
}

// Merge adds the report of another call of the same program. Findings of one kind at the same places are
// merged.
func (r *Report) Merge(other *Report) {
	r.Counts = largestCalls(r.Counts, other.Counts)
	for _, f := range other.Findings {
		if !slices.ContainsFunc(r.Findings, func(g Finding) bool { return g.same(&f) }) {
			r.Findings = append(r.Findings, f)
		}
	}
	for _, list := range []struct{ to, from *[]string }{
		{&r.Orders, &other.Orders},
		{&r.Skipped, &other.Skipped},
		{&r.Unfinished, &other.Unfinished},
		{&r.Notes, &other.Notes},
		{&r.Sanitizers, &other.Sanitizers},
	} {
		for _, text := range *list.from {
			if !slices.Contains(*list.to, text) {
				*list.to = append(*list.to, text)
			}
		}
	}
	r.sort()
}

// add adds the findings of one run. A finding that an earlier order already had gets this order's name too.
func (r *Report) add(ctx context.Context, q Request, one *run) error {
	if one.unfinished || one.working {
		r.noteUnfinished(one)
	} else if one.foreign > 0 {
		r.noteForeign(one)
	} else {
		r.Orders = append(r.Orders, one.order)
	}
	r.noteSkipped(q, one)
	for _, found := range [][]Finding{one.findings, one.lockstep} {
		if err := locate(ctx, q, found); err != nil {
			return err
		}
	}
	r.noteLockstep(one)
	found := append(one.findings, one.ending()...)
	for _, f := range found {
		if one.status != 0 && f.Kind == Leak || f.Kind == HostPointer && f.atLaunch() {
			continue
		}
		i := slices.IndexFunc(r.Findings, func(g Finding) bool { return g.same(&f) })
		if i < 0 {
			f.Orders = []string{one.order}
			r.Findings = append(r.Findings, f)
		} else if !slices.Contains(r.Findings[i].Orders, one.order) {
			r.Findings[i].Orders = append(r.Findings[i].Orders, one.order)
		}
	}
	return nil
}

// atLaunch reports whether an access belongs to the launch itself, which reads the kernel's arguments from
// host memory.
func (f *Finding) atLaunch() bool {
	return f.Place.known() && f.Launched.known() && *f.Place == *f.Launched
}

// ending returns the finding that the end of a run implies. A bad end after another finding adds nothing.
func (r *run) ending() []Finding {
	switch {
	case r.unfinished, r.working:
		return nil
	case r.late:
		return []Finding{
			{Kind: NeverEnds, Message: fmt.Sprintf("it was stopped after %v", r.took.Round(time.Second))},
		}
	case r.memory > 0:
		return []Finding{
			{Kind: OutOfMemory, Message: fmt.Sprintf("the program's host code had %d MiB and was "+
				"stopped, for this machine has not much more", r.memory>>20)},
		}
	case r.status == 0 || slices.ContainsFunc(r.findings, func(f Finding) bool { return f.Kind != Leak }):
		return nil // a leak does not explain a failure, so that the exit status is reported
	case r.signal == "signal: "+syscall.SIGABRT.String():
		return []Finding{{Kind: ExitStatus, Message: "it ended itself (abort): an exception that nobody " +
			"caught, an assert of the host, or its memory given back wrongly"}}
	case r.signal != "":
		return []Finding{{Kind: HostCrash, Message: r.signal}}
	}
	return []Finding{{Kind: ExitStatus, Message: fmt.Sprintf("exit status %d", r.status)}}
}

func (r *Report) notes(first *run) {
	if first.cut {
		r.Notes = append(r.Notes, fmt.Sprintf("The program printed more than %d MiB; the rest is not shown.",
			mostOutput>>20))
	}
}

// compare adds a finding if a run in another order printed something else. It ignores a program whose output
// differs between two runs in the same order: such a program prints times or random values.
func (r *Report) compare(ctx context.Context, q Request, folder string, first, other *run) error {
	if len(r.Findings) > 0 || other.late || sameOutput(first.output, other.output) ||
		sameButForKernels(first, other) {
		return nil
	}
	for _, again := range []*run{first, other} {
		repeated, err := q.once(ctx, folder, again.order)
		if err != nil {
			return err
		}
		if !sameOutput(again.output, repeated.output) {
			return nil
		}
	}
	line, a, b := firstDifference(first.output, other.output)
	r.Findings = append(r.Findings, Finding{
		Kind: OrderDependent, Orders: []string{other.order},
		Message: fmt.Sprintf(
			"line %d of the output is %q in order %s and %q in order %s",
			line,
			a,
			first.order,
			b,
			other.order,
		),
	})
	return nil
}

// dropConsequences removes uninitialised reads of shared memory that a reported race explains.
func (r *Report) dropConsequences() {
	r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool {
		return f.Kind == Uninitialised && f.Place != nil &&
			slices.ContainsFunc(r.Findings, func(g Finding) bool {
				return g.Kind == Race && (g.Place.known() && *g.Place == *f.Place ||
					g.Other.known() && *g.Other == *f.Place)
			})
	})
}

// sort sorts the findings by kind, then by line.
func (r *Report) sort() {
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		if c := slices.Index(Kinds, a.Kind) - slices.Index(Kinds, b.Kind); c != 0 {
			return c
		}
		if a.Place == nil || b.Place == nil {
			return 0
		}
		return a.Place.Line - b.Place.Line
	})
}

// locate resolves addresses of the program to lines.
func locate(ctx context.Context, q Request, findings []Finding) error {
	var offsets []uint64
	for i := range findings {
		for _, p := range findings[i].places() {
			if p.Offset != 0 && !slices.Contains(offsets, p.Offset) {
				offsets = append(offsets, p.Offset)
			}
		}
	}
	lines, err := q.Locate(ctx, offsets)
	if err != nil {
		return err
	}
	for i := range findings {
		for _, p := range findings[i].places() {
			if p.Offset != 0 {
				*p = lines[p.Offset]
			}
		}
	}
	return nil
}

// once runs the program in one order.
func (q Request) once(ctx context.Context, folder, order string) (run, error) {
	r := run{order: order}
	name, input := filepath.Join(folder, "findings"), filepath.Join(folder, "input")
	printed := filepath.Join(folder, "printed")
	for _, old := range []string{name, printed} {
		if err := os.Remove(old); err != nil && !os.IsNotExist(err) {
			return r, fmt.Errorf("remove the findings of the run before: %w", err)
		}
	}
	if err := os.WriteFile(input, q.Input, 0o600); err != nil {
		return r, fmt.Errorf("write the program's standard input: %w", err)
	}
	stdin, err := os.Open(input)
	if err != nil {
		return r, fmt.Errorf("open the program's standard input: %w", err)
	}
	defer stdin.Close()
	// the emulator itself reports, before the limit, where the program was, if it was still working
	key := rand.Text()
	env := append(os.Environ(), "CUEMU_FINDINGS="+name, "CUEMU_FINDINGS_KEY="+key, "CUEMU_WATCH=1",
		"CUEMU_ORDER="+order,
		fmt.Sprintf("CUEMU_WATCHDOG=%g", q.Stall.Seconds()),
		"CUEMU_PRINTED="+printed,
		fmt.Sprintf("CUEMU_LIMIT=%g", (q.Limit-min(q.Limit/4, 5*time.Second)).Seconds()))
	if q.environment != nil {
		env, key = append(os.Environ(), q.environment...), ""
	}
	if q.Counts {
		env = append(env, "CUEMU_COUNTS="+filepath.Join(folder, "counts"))
	}
	mark := "TRIAD_CHECKED_BY=" + name
	output := &capped{most: mostOutput}
	began := time.Now()
	p, err := subprocess.Start(subprocess.Command{
		Path: q.Program, Args: q.Args, Stdin: stdin, Stdout: output, Stderr: output,
		Env: append(env, mark), Mark: mark,
		Grace: subprocess.Grace{Term: 200 * time.Millisecond, Kill: 5 * time.Second},
	})
	if err != nil {
		return r, fmt.Errorf("start the program: %w", err)
	}
	defer p.End()
	if err := r.await(ctx, p, q.Limit); err != nil {
		return r, err
	}
	r.working = r.working && !q.Native
	if r.late || r.memory > 0 {
		p.End()
		r.status = -1
	} else {
		r.status, r.signal = statusOf(p)
	}
	r.took = time.Since(began)
	r.output, r.cut = output.taken()
	if r.printed, err = os.ReadFile(printed); err != nil && !os.IsNotExist(err) {
		return r, fmt.Errorf("read what kernels printed: %w", err)
	}
	return r, r.read(name, key)
}

// await waits for the end of the program, or until it exceeds its time or memory. A program that used a
// processor for a hundredth of the last quarter of its time was at work: this machine may be busy.
func (r *run) await(ctx context.Context, p *subprocess.Process, limit time.Duration) error {
	began := time.Now()
	used := time.Duration(-1) // at three quarters of the limit
	for !p.Wait(20 * time.Millisecond) {
		r.took = time.Since(began)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if used < 0 && r.took > limit/4*3 {
			used = processorTime(p.PID())
		}
		if r.late = r.took > limit; r.late {
			r.working = used >= 0 && processorTime(p.PID())-used > limit/400
			break
		}
		if resident := residentBytes(p.PID()); resident > mostResident() {
			r.memory = resident
			break
		}
	}
	return nil
}

// statusOf returns the exit status of a program that has ended; -1 and the signal's name if a signal ended
// it.
func statusOf(p *subprocess.Process) (status int, signal string) {
	sentence, number := p.Exit()
	if number != 0 {
		return -1, "signal: " + number.String()
	}
	if at := strings.LastIndexByte(sentence, ' '); at >= 0 {
		status, _ = strconv.Atoi(sentence[at+1:])
	}
	return status, ""
}

func (r *run) read(name, key string) error {
	file, err := os.Open(name)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the findings of the program: %w", err)
	}
	defer file.Close()
	r.findings, r.foreign, err = readFindings(file, key)
	r.takeUnfinished()
	r.takeSkipped()
	return err
}

// residentBytes returns the resident memory of a process; 0 if it has ended.
func residentBytes(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	fields := bytes.Fields(text)
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(string(fields[1]), 10, 64)
	return pages * int64(os.Getpagesize())
}

// processorTime returns the processor time of a process, in steps of 10 ms; 0 if it has ended.
func processorTime(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:]) // its name may have spaces
	if err != nil || len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(string(fields[11]), 10, 64)
	system, _ := strconv.ParseInt(string(fields[12]), 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond
}

// mostResident returns three quarters of this machine's memory.
func mostResident() int64 {
	var info syscall.Sysinfo_t
	if syscall.Sysinfo(&info) != nil {
		return 1 << 40
	}
	return int64(uint64(info.Totalram) * uint64(info.Unit) / 4 * 3)
}
