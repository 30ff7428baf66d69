// Testreport reads what "go test -json" prints and shows what a person wants of it: each package's line, what
// failed with its output, the slowest tests, how long each package took beside its budget, and at the end the
// list of what was skipped and why. With -ci a package over its budget is a failure, and so is a
// skipped test that neither needs a GPU nor is one of make test-long.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"triad/internal/need"
)

func main() {
	budgets := flag.String("budgets", "",
		"a file with a package, or other for the rest, and its seconds in each line")
	ci := flag.Bool("ci", false,
		"fail where a package is over its budget, or a test was skipped that every run has to run")
	flag.Parse()
	if err := run(os.Stdin, os.Stdout, *budgets, *ci); err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
		os.Exit(1)
	}
}

// event is one line of go test -json; see "go doc test2json".
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64 // seconds
}

// report is what was read so far.
type report struct {
	out     io.Writer
	said    map[[2]string][]string // what each package and test printed and nobody needs yet
	seconds map[string]float64
	skipped []skip
	slow    []slow
	failed  int
}

type skip struct{ where, reason string }

// slow is a test that took some seconds, its subtests included.
type slow struct {
	where   string
	seconds float64
}

func run(in io.Reader, out io.Writer, budgets string, ci bool) error {
	limits, err := readBudgets(budgets)
	if err != nil {
		return err
	}
	r := &report{out: out, said: map[[2]string][]string{}, seconds: map[string]float64{}}
	if err := r.read(in); err != nil {
		return err
	}
	r.tellSlow()
	over := r.tellTimes(limits)
	skipped := r.tellSkipped()
	switch {
	case r.failed > 0:
		return fmt.Errorf("%d packages failed", r.failed)
	case len(r.seconds) == 0:
		return errors.New("no package was tested")
	case ci && len(over) > 0:
		return fmt.Errorf("over budget: %s", strings.Join(over, ", "))
	case ci && skipped > 0:
		return fmt.Errorf("%d tests were skipped and have to run", skipped)
	}
	return nil
}

// read follows the events to their end.
func (r *report) read(in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil { // the go command's own words
				fmt.Fprintf(r.out, "%s", line)
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

func (r *report) follow(e event) {
	key := [2]string{e.Package, e.Test}
	switch {
	case e.Action == "build-output":
		fmt.Fprint(r.out, e.Output)
	case e.Action == "output":
		r.said[key] = append(r.said[key], e.Output)
	case e.Test != "" && e.Action == "skip":
		r.skipped = append(r.skipped, skip{e.Package + " " + e.Test, reason(r.said[key])})
		delete(r.said, key)
	case e.Test != "" && e.Action == "pass":
		if e.Elapsed >= 1 && !strings.Contains(e.Test, "/") {
			r.slow = append(r.slow, slow{e.Package + " " + e.Test, e.Elapsed})
		}
		delete(r.said, key)
	case e.Test != "" && e.Action == "fail":
		fmt.Fprintf(r.out, "%s", strings.Join(r.said[key], ""))
		delete(r.said, key)
	case e.Test == "" && (e.Action == "pass" || e.Action == "skip" || e.Action == "fail"):
		r.endPackage(e)
	}
}

// endPackage prints the line of a package, before it what is left of tests that never ended and of a failure
// between them.
func (r *report) endPackage(e event) {
	r.seconds[e.Package] = e.Elapsed
	for _, key := range slices.SortedFunc(maps.Keys(r.said),
		func(a, b [2]string) int { return strings.Compare(a[1], b[1]) }) {
		if key[0] != e.Package || key[1] == "" {
			continue
		}
		if e.Action == "fail" {
			fmt.Fprint(r.out, strings.Join(r.said[key], ""))
		}
		delete(r.said, key)
	}
	own := r.said[[2]string{e.Package, ""}]
	delete(r.said, [2]string{e.Package, ""})
	if e.Action != "fail" && len(own) > 0 {
		own = own[len(own)-1:] // "ok  package  1.2s"
	}
	if e.Action == "fail" {
		r.failed++
	}
	fmt.Fprint(r.out, strings.Join(own, ""))
}

var place = regexp.MustCompile(`^\s*[\w.-]+\.go:\d+: `)

// reason is what a skipped test said last, without the place in its source.
func reason(said []string) string {
	var words []string
	for _, line := range slices.Backward(said) {
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

// tellSlow prints the tests that took longest.
func (r *report) tellSlow() {
	slices.SortFunc(r.slow, func(a, b slow) int { return cmp.Compare(b.seconds, a.seconds) })
	for _, s := range r.slow[:min(len(r.slow), 10)] {
		fmt.Fprintf(r.out, "%6.1f s  %s\n", s.seconds, s.where)
	}
}

// tellTimes prints how long the packages with a budget of their own took, and others that are over theirs,
// the slowest first. It gives those over.
func (r *report) tellTimes(limits map[string]float64) (over []string) {
	for _, name := range slices.SortedFunc(maps.Keys(r.seconds),
		func(a, b string) int { return cmp.Compare(r.seconds[b], r.seconds[a]) }) {
		took, note := r.seconds[name], ""
		limit, own := limits[name]
		if !own {
			limit = limits["other"]
		}
		if limit > 0 && took > limit {
			over, note = append(over, name), ", over budget"
		}
		if own || note != "" {
			fmt.Fprintf(r.out, "%-28s %6.1f s of %.0f s%s\n", name, took, limit, note)
		}
	}
	return over
}

// tellSkipped prints what was skipped and why: first what nothing excuses, then the tests that only make
// test-long runs and those that need a GPU. It gives the number of the first.
func (r *report) tellSkipped() int {
	var others, long, onGPU []skip
	for _, s := range r.skipped {
		switch {
		case need.IsGPU(s.reason):
			onGPU = append(onGPU, s)
		case need.IsLong(s.reason):
			long = append(long, s)
		default:
			others = append(others, s)
		}
	}
	fmt.Fprintf(r.out, "skipped: %d, %d that only make test-long runs, and %d that need a GPU\n",
		len(others), len(long), len(onGPU))
	for _, s := range slices.Concat(others, long, onGPU) {
		fmt.Fprintf(r.out, "  %s: %s\n", s.where, s.reason)
	}
	return len(others)
}

// readBudgets reads lines of a package and its seconds; # begins a comment. No file, no budgets.
func readBudgets(path string) (map[string]float64, error) {
	limits := map[string]float64{}
	if path == "" {
		return limits, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the budgets: %w", err)
	}
	for n, line := range strings.Split(string(text), "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if len(words) != 2 {
			return nil, fmt.Errorf("%s:%d: want a package and its seconds", path, n+1)
		}
		if limits[words[0]], err = strconv.ParseFloat(words[1], 64); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n+1, err)
		}
	}
	return limits, nil
}
