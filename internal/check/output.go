package check

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// capped keeps the first bytes written to it and drops the rest.
type capped struct {
	most   int
	mutex  sync.Mutex
	text   []byte
	beyond bool
}

func (c *capped) Write(p []byte) (int, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	room := c.most - len(c.text)
	c.text = append(c.text, p[:min(room, len(p))]...)
	c.beyond = c.beyond || len(p) > room
	return len(p), nil
}

func (c *capped) taken() (text []byte, beyond bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return bytes.Clone(c.text), c.beyond
}

// stops lists the findings that end a kernel where they are, as an error of the GPU would: what the host
// prints after that are results that nobody has computed.
var stops = []Kind{
	OutOfBounds, StackOverflow, Misaligned, UseAfterFree, NullPointer, Divergence, Deadlock, Hang, Assert,
	DivisionByZero, Trap,
}

// print writes what the program printed. Where a kernel was stopped, a line says so first.
func (r *run) print(to io.Writer) error {
	stopped := slices.ContainsFunc(r.findings, func(f Finding) bool {
		return f.Kernel != "" && slices.Contains(stops, f.Kind)
	})
	text := r.output
	if stopped && len(text) > 0 {
		text = append([]byte("The program printed, though its kernel was stopped as said below:\n"), text...)
	}
	if _, err := to.Write(text); err != nil {
		return fmt.Errorf("print the program's output: %w", err)
	}
	return nil
}

// rounding is the largest relative difference between two printed numbers that counts as equal: sums of
// floats in another order round differently, and that is no mistake.
const rounding = 1e-4

// sameOutput reports whether two outputs are equal up to the rounding of their numbers.
func sameOutput(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, y := strings.Fields(string(a)), strings.Fields(string(b))
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if !sameWord(x[i], y[i]) {
			return false
		}
	}
	return true
}

func sameWord(a, b string) bool {
	if a == b {
		return true
	}
	if !strings.ContainsAny(a, ".eE") && !strings.ContainsAny(b, ".eE") {
		return false // integers are exact
	}
	trim := func(s string) string { return strings.Trim(s, "()[]{},;:=") }
	x, err := strconv.ParseFloat(trim(a), 64)
	y, wrong := strconv.ParseFloat(trim(b), 64)
	if err != nil || wrong != nil {
		return false
	}
	return math.Abs(x-y) <= rounding*math.Max(math.Abs(x), math.Abs(y))
}

// firstDifference returns the first line, from 1, in which two outputs differ, and its text in each.
func firstDifference(a, b []byte) (line int, x, y string) {
	left, right := strings.Split(string(a), "\n"), strings.Split(string(b), "\n")
	at := func(lines []string, i int) string {
		if i < len(lines) {
			return shortened(lines[i])
		}
		return ""
	}
	for i := range max(len(left), len(right)) {
		if x, y := at(left, i), at(right, i); !sameOutput([]byte(x), []byte(y)) {
			return i + 1, x, y
		}
	}
	return 0, "", ""
}

func shortened(line string) string {
	if len(line) > 80 {
		return line[:80] + " ..."
	}
	return line
}

// sameButForKernels reports whether two runs printed the same, apart from the order of the lines that kernels
// printed.
func sameButForKernels(a, b *run) bool {
	if len(a.printed) == 0 || len(b.printed) == 0 || a.cut || b.cut {
		return false
	}
	hostA, kernelsA := apart(a.output, a.printed)
	hostB, kernelsB := apart(b.output, b.printed)
	return sameOutput(hostA, hostB) && sameOutput(kernelsA, kernelsB)
}

// apart splits the lines that kernels printed from an output, and returns them sorted.
func apart(output, printed []byte) (host, kernels []byte) {
	lines := bytes.Split(printed, []byte{'\n'})
	var left [][]byte
	next := 0
	for _, line := range bytes.Split(output, []byte{'\n'}) {
		if next < len(lines)-1 && bytes.Equal(line, lines[next]) {
			next++
			continue
		}
		left = append(left, line)
	}
	slices.SortFunc(lines, bytes.Compare)
	return bytes.Join(left, []byte{'\n'}), bytes.Join(lines, []byte{'\n'})
}
