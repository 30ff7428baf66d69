package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"triad/internal/need"
)

// event is one line of go test -json; see "go doc test2json".
type event struct {
	Action, Package, ImportPath, Test, Output string
}

// test is a test, or a case of one: a subtest.
type test struct{ pkg, name string }

func (t test) String() string { return t.pkg + " " + t.name }

// report collects the results read so far.
type report struct {
	out      io.Writer
	progress *progress
	output   map[test][]string // the output of each, until it is needed
	ended    map[test]string   // pass, fail or skip
	packages map[string]string // the same for packages
	cases    []covered
	skipped  []skip
	failed   int // packages
	reused   int // packages of which go test had the result in its cache
	failures int // tests and cases, each with its command
}

type skip struct {
	test
	reason string
}

// covered is the reason why a case ran, or the case that covers its key instead.
type covered struct {
	test
	why string
}

// read processes the events to their end.
func (r *report) read(in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil { // the go command's own words
				r.print(string(line))
			} else {
				r.follow(e)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the events: %w", err)
		}
	}
}

func (r *report) print(text string) {
	r.progress.clear()
	fmt.Fprint(r.out, text)
}

func (r *report) follow(e event) {
	r.progress.follow(e)
	key := test{e.Package, e.Test}
	switch {
	case e.Action == "build-output":
		r.print(e.Output)
	case e.Action == "output":
		r.output[key] = append(r.output[key], e.Output)
	case e.Test != "" && (e.Action == "pass" || e.Action == "fail" || e.Action == "skip"):
		r.endTest(key, e.Action)
	case e.Action == "pass" || e.Action == "skip" || e.Action == "fail":
		r.endPackage(e)
	}
}

// runsBecause matches the line that internal/need logs for a case that a tier chose.
var runsBecause = regexp.MustCompile(`(?m)^\s*[\w.-]+\.go:\d+: runs: (.*)$`)

func (r *report) endTest(t test, how string) {
	output := strings.Join(r.output[t], "")
	delete(r.output, t)
	r.ended[t] = how
	if m := runsBecause.FindStringSubmatch(output); m != nil {
		r.cases = append(r.cases, covered{t, "runs: " + m[1]})
	}
	switch how {
	case "skip":
		why := reason(output)
		r.skipped = append(r.skipped, skip{t, why})
		if need.IsLong(why) {
			r.cases = append(r.cases, covered{t, why})
		}
	case "fail":
		r.print(output)
		inner := func(other test) bool {
			return other.pkg == t.pkg && r.ended[other] == "fail" && strings.HasPrefix(other.name, t.name+"/")
		}
		for other := range r.ended {
			if inner(other) {
				return // which printed its own
			}
		}
		r.printRepeat(t)
	}
}

// printRepeat prints the command that runs a failed test alone.
func (r *report) printRepeat(t test) {
	r.failures++
	r.print("    repeat it alone: " + r.repeat(t) + "\n")
}

// repeat returns the command that runs a test alone.
func (r *report) repeat(t test) string {
	var pattern []string
	for part := range strings.SplitSeq(t.name, "/") {
		pattern = append(pattern, "^"+regexp.QuoteMeta(part)+"$")
	}
	tier := ""
	for _, c := range r.cases { // alone, a case is the first of its key, if it has one
		if c.pkg == t.pkg && (c.name == t.name || strings.HasPrefix(t.name, c.name+"/")) &&
			!strings.HasPrefix(c.why, "runs: the first of") {
			tier = "TRIAD_TEST_TIER=long "
		}
	}
	return fmt.Sprintf("%sTRIAD_TEST_SETUP=1 go test -count=1 -run %s .%s", tier,
		quoted(strings.Join(pattern, "/")), strings.TrimPrefix(t.pkg, "triad"))
}

// quoted quotes a word for a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// endPackage prints the line of a package; after a failure, also the output of tests that never ended.
func (r *report) endPackage(e event) {
	r.packages[e.Package] = e.Action
	for _, key := range slices.SortedFunc(maps.Keys(r.output),
		func(a, b test) int { return strings.Compare(a.name, b.name) }) {
		if key.pkg != e.Package || key.name == "" {
			continue
		}
		if e.Action == "fail" {
			r.print(strings.Join(r.output[key], ""))
			r.printRepeat(key)
		}
		delete(r.output, key)
	}
	whole := test{pkg: e.Package}
	own := r.output[whole]
	delete(r.output, whole)
	if e.Action != "fail" && len(own) > 0 {
		own = own[len(own)-1:] // "ok  package  1.2s"
	}
	if e.Action == "fail" {
		r.failed++
	}
	if len(own) > 0 && strings.HasSuffix(own[0], "\t(cached)\n") {
		r.reused++
	}
	if len(own) > 0 && !strings.Contains(own[0], "[no test files]") {
		r.print(strings.Join(own, ""))
	}
}

var place = regexp.MustCompile(`^\s*[\w.-]+\.go:\d+: `)

// reason returns the last line that a skipped test printed, without its place in the source.
func reason(output string) string {
	var words []string
	for _, line := range slices.Backward(strings.Split(output, "\n")) {
		if text := strings.TrimSpace(place.ReplaceAllString(line, "")); text != "" &&
			!strings.HasPrefix(text, "--- ") && !strings.HasPrefix(text, "=== ") {
			words = append(words, text)
		}
		if place.MatchString(line) {
			break
		}
	}
	if len(words) == 0 {
		return "no reason was given"
	}
	slices.Reverse(words)
	return strings.Join(words, " ")
}

// printSkipped prints what was skipped and why: first unexcused skips, then the tests that need a GPU. It
// returns the number of the former. Tests left to the long tier are only counted, at the end.
func (r *report) printSkipped() int {
	var others, onGPU []skip
	for _, s := range r.skipped {
		switch {
		case need.IsGPU(s.reason), need.IsCutile(s.reason):
			onGPU = append(onGPU, s)
		case !need.IsLong(s.reason):
			others = append(others, s)
		}
	}
	for _, s := range slices.Concat(others, onGPU) {
		fmt.Fprintf(r.out, "skipped %v: %s\n", s.test, s.reason)
	}
	return len(others)
}

// printEnd prints the last line.
func (r *report) printEnd(took time.Duration, processor float64) {
	tests, cases, long := 0, 0, 0
	for t := range r.ended {
		if strings.Contains(t.name, "/") {
			cases++
		} else {
			tests++
		}
	}
	for _, s := range r.skipped {
		if need.IsLong(s.reason) {
			long++
		}
	}
	fmt.Fprintf(r.out, "%d tests with %d cases in %.1f min, %.0f s of processor time: %d failed, %d "+
		"skipped, %d left to the long tier, %d packages unchanged since they passed\n", tests, cases,
		took.Minutes(), processor, r.failures, len(r.skipped)-long, long, r.reused)
}

// writeKeys writes what each case covers, and why it ran or did not.
func (r *report) writeKeys(path string) error {
	if path == "" {
		return nil
	}
	var lines []string
	for _, c := range r.cases {
		lines = append(lines, c.test.String()+"\t"+c.why+"\n")
	}
	slices.Sort(lines)
	return os.WriteFile(path, []byte(strings.Join(lines, "")), 0o644)
}
