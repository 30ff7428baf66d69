package check

import (
	"bufio"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// Reports that a compiler's sanitizer writes, parsed from their text. Frames have the form
// @NUMBER|MODULE|OFFSET, which triad asks for.
type (
	// sanitizerReport is one report: its first line, and the stacks below it.
	sanitizerReport struct {
		tool   string // Address, Leak or Thread
		words  string // the mistake, such as heap-use-after-free
		lines  []string
		stacks []stack
		where  *emulatorRecord // kernel, block and thread that ran; nil: not known
	}
	// stack is a list of frames, innermost first, with the line above it.
	stack struct {
		heading string
		frames  []frame
	}
	frame struct {
		module string
		offset uint64
	}
)

var (
	reportStart  = regexp.MustCompile(`^(?:==\d+==)?(?:ERROR|WARNING): (Address|Leak|Thread)Sanitizer: (.*)$`)
	reportFrame  = regexp.MustCompile(`^\s*@\d+\|([^|]*)\|(\S*)$`)
	reportFailed = regexp.MustCompile(`(?m)^(?:==\d+==)?(FATAL: \w+Sanitizer: .*|` +
		`\w+Sanitizer: CHECK failed: .*|\w+Sanitizer CHECK failed: .*)$`)
	leaksFailed = regexp.MustCompile(`(?m)LeakSanitizer has encountered a fatal error`)
	accessLine  = regexp.MustCompile(`^\s*(?:Previous )?(?:[aA]tomic )?([Rr]ead|[Ww]rite|READ|WRITE) of ` +
		`size (\d+) at 0x\w+(?: (?:by|thread) (.*?):?)?$`)
	heapLine = regexp.MustCompile(`^0x([0-9a-f]+) is located .* (\d+)-byte region \[0x([0-9a-f]+),`)
	ofStack  = regexp.MustCompile(`is located in stack of thread \w+ at offset (\d+) in frame`)
	variable = regexp.MustCompile(`^\s*\[(\d+), (\d+)\) '([^']*)'(?: \(line (\d+)\))? <== `)
	global   = regexp.MustCompile(`is located (\d+) bytes (to the right of|to the left of|after|before|` +
		`inside of) global variable '([^']*)' defined in '.*' \(0x\w+\) of size (\d+)`)
	badAddress = regexp.MustCompile(`on unknown address (?:0x([0-9a-f]+))?`)
	leakLine   = regexp.MustCompile(`^(Direct|Indirect) leak of (\d+) byte\(s\) in (\d+) object\(s\) ` +
		`allocated from:`)
	threadName    = regexp.MustCompile(`\bT\d+\b`)
	parenthesised = regexp.MustCompile(`\(.*? vs .*?\)`)
	namedThread   = regexp.MustCompile(`^\s*Thread (T\d+) 'cuda thread (\d+)'`)
)

// readReports reads what a sanitizer wrote.
func readReports(r io.Reader) ([]sanitizerReport, error) {
	var all []sanitizerReport
	var now *sanitizerReport
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	fresh := true // the next frame begins a stack
	for lines.Scan() {
		text := lines.Text()
		if m := reportStart.FindStringSubmatch(text); m != nil {
			all = append(all, sanitizerReport{tool: m[1], words: m[2]})
			now, fresh = &all[len(all)-1], true
			now.lines = []string{text}
			continue
		}
		if now == nil {
			continue
		}
		m := reportFrame.FindStringSubmatch(text)
		if m == nil {
			fresh = true
			if strings.TrimSpace(text) != "" {
				now.lines = append(now.lines, text)
			}
			continue
		}
		if fresh {
			now.stacks = append(now.stacks, stack{heading: now.lines[len(now.lines)-1]})
			fresh = false
		}
		offset, _ := strconv.ParseUint(m[2], 0, 64)
		last := &now.stacks[len(now.stacks)-1]
		last.frames = append(last.frames, frame{m[1], offset})
	}
	return all, lines.Err()
}

// hasEmulatorRecord reports whether the emulator writes a record for this report. It does not see
// ThreadSanitizer's reports of signals.
func (r *sanitizerReport) hasEmulatorRecord() bool {
	return r.tool == "Address" || r.tool == "Thread" && strings.HasPrefix(r.lines[0], "WARNING")
}

// match returns the captures of the first line of a report that matches the pattern.
func (r *sanitizerReport) match(pattern *regexp.Regexp) []string {
	for _, line := range r.lines {
		if m := pattern.FindStringSubmatch(line); m != nil {
			return m
		}
	}
	return nil
}

// word returns the sanitizer's name for the mistake.
func (r *sanitizerReport) word() string {
	text, _, _ := strings.Cut(r.words, " (pid=")
	if r.tool == "Thread" && r.hasEmulatorRecord() {
		return text
	}
	switch {
	case strings.HasPrefix(text, "attempting double-free"):
		return "double-free"
	case strings.HasPrefix(text, "attempting free"):
		return "bad-free"
	}
	text, _, _ = strings.Cut(text, " ")
	return strings.TrimSuffix(text, ":")
}

// says reports whether the first line of a report contains one of the words.
func (r *sanitizerReport) says(words ...string) bool {
	for _, word := range words {
		if strings.Contains(r.words, word) {
			return true
		}
	}
	return false
}

// stackUnder returns the first stack whose heading contains a text.
func (r *sanitizerReport) stackUnder(text string) *stack {
	for i := range r.stacks {
		if strings.Contains(r.stacks[i].heading, text) {
			return &r.stacks[i]
		}
	}
	return nil
}

// number parses a number in base 16 or 10; a pattern has already matched it.
func number(text string, base int) int64 {
	n, _ := strconv.ParseUint(text, base, 64)
	return int64(n)
}

// describe sets the access of an AddressSanitizer report, its memory and its position in that memory. A
// report without an access sets none.
func (r *sanitizerReport) describe(f *Finding, device func(*stack) bool) {
	m := r.match(accessLine)
	if m == nil {
		return
	}
	f.Access, f.Bytes = strings.ToLower(m[1]), number(m[2], 10)
	if m := r.match(heapLine); m != nil {
		f.Memory, f.MemoryBytes = "host memory", number(m[2], 10)
		f.Byte = number(m[1], 16) - number(m[3], 16)
		if at := r.stackUnder("allocated by"); at != nil && device(at) {
			f.Memory = "device memory"
		}
	}
	if m := r.match(global); m != nil {
		f.Memory, f.MemoryBytes, f.Byte = "the variable "+m[3], number(m[4], 10), number(m[1], 10)
		switch m[2] {
		case "to the right of", "after":
			f.Byte += f.MemoryBytes
		case "to the left of", "before":
			f.Byte = -f.Byte
		}
	}
	if m, at := r.match(variable), r.match(ofStack); m != nil && at != nil {
		f.Memory, f.MemoryBytes = "the variable "+m[3], number(m[2], 10)-number(m[1], 10)
		f.Byte = number(at[1], 10) - number(m[1], 10)
	}
	if f.Memory == "" && r.says("use-after-poison") && f.Block != nil {
		f.Memory = "shared memory"
	}
}
