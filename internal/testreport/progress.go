package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// progress shows the progress of the run: on a terminal in one line that is overwritten, elsewhere once a
// minute.
type progress struct {
	terminal bool
	folders  map[string]string  // the tested packages, by folder
	weight   map[string]float64 // the estimated cost of each, in processor seconds
	total    int                // tests
	ended    int
	done     map[string]bool // packages
	running  map[test]time.Time
	begin    time.Time
	shown    time.Time
	drawn    bool
}

var declared = regexp.MustCompile(`(?m)^func Test\w*\(\w+ \*testing\.T\)`)

func newProgress(o options, limits map[string]float64) (*progress, error) {
	p := &progress{
		folders: map[string]string{}, weight: map[string]float64{}, done: map[string]bool{},
		running: map[test]time.Time{}, begin: time.Now(), shown: time.Now(),
	}
	if info, err := os.Stderr.Stat(); err == nil {
		p.terminal = info.Mode()&os.ModeCharDevice != 0
	}
	if o.packages == "" {
		return p, nil
	}
	text, err := os.ReadFile(o.packages)
	if err != nil {
		return nil, fmt.Errorf("read the packages: %w", err)
	}
	last, err := readCosts(o.last)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		name, folder, _ := strings.Cut(strings.TrimSpace(line), " ")
		p.folders[folder] = name
		p.weight[name] = 1 // the start of a process
		if limit, own := limits[name]; own {
			p.weight[name] = limit / 2
		}
		files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			p.total += len(declared.FindAll(text, -1))
		}
	}
	last.name(p.folders)
	for name := range p.weight {
		if spent, known := last.of[test{pkg: name}]; known {
			p.weight[name] = spent + 1
		}
	}
	return p, nil
}

// follow counts an event, and shows the progress if it is time.
func (p *progress) follow(e event) {
	if p.total == 0 {
		return
	}
	t := test{e.Package, e.Test}
	switch {
	case e.Test != "" && e.Action == "run" && !strings.Contains(e.Test, "/"):
		p.running[t] = time.Now()
	case e.Test != "" && !strings.Contains(e.Test, "/") &&
		(e.Action == "pass" || e.Action == "fail" || e.Action == "skip"):
		delete(p.running, t)
		p.ended++
	case e.Test == "" && (e.Action == "pass" || e.Action == "fail" || e.Action == "skip"):
		p.done[e.Package] = true
		maps.DeleteFunc(p.running, func(t test, _ time.Time) bool { return t.pkg == e.Package })
	}
	every := time.Minute
	if p.terminal {
		every = time.Second
	}
	if time.Since(p.shown) < every {
		return
	}
	p.shown = time.Now()
	if !p.terminal {
		fmt.Fprintln(os.Stderr, p.line())
		return
	}
	p.drawn = true
	fmt.Fprintf(os.Stderr, "\r\x1b[K%.100s", p.line())
}

// line returns the progress, an estimate of the remaining time, and the test that has run longest.
func (p *progress) line() string {
	took := time.Since(p.begin)
	all, done := 0.0, 0.0
	for name, weight := range p.weight {
		all += weight
		if p.done[name] {
			done += weight
		}
	}
	text := fmt.Sprintf("%d of %d tests, %.0f min", p.ended, p.total, took.Minutes())
	if done > all/20 {
		text += fmt.Sprintf(", about %.0f min more", took.Minutes()*(all-done)/done)
	}
	oldest := slices.SortedFunc(maps.Keys(p.running),
		func(a, b test) int { return p.running[a].Compare(p.running[b]) })
	for i, t := range oldest[:min(len(oldest), 2)] {
		text += []string{"; running ", ", "}[i] + strings.TrimPrefix(t.pkg, "triad/") + " " + t.name
	}
	return text
}

// clear removes the line from the terminal.
func (p *progress) clear() {
	if p.drawn {
		fmt.Fprint(os.Stderr, "\r\x1b[K")
		p.drawn = false
	}
}
