package check

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"triad/internal/scratch"
)

// Sanitized is a program built with one of the compiler's sanitizers.
type Sanitized struct {
	Name    string // "address" or "thread"
	Program string
	Locate  func(ctx context.Context, offsets []uint64) (map[uint64]Place, error)
}

// SanitizerError is a sanitizer that could not work on this machine; nothing is known of the program.
type SanitizerError struct{ Name, Output string }

func (e *SanitizerError) Error() string {
	text := fmt.Sprintf("%s cannot run on this machine: it says %q", sanitizerNames[e.Name], e.Output)
	if strings.Contains(e.Output, "memory mapping") {
		return text + ": run it as setarch -R triad check ..., or set the kernel's vm.mmap_rnd_bits to 28"
	}
	return text
}

var sanitizerNames = map[string]string{
	"address": "AddressSanitizer", "undefined": "UndefinedBehaviorSanitizer", "thread": "ThreadSanitizer",
	"memcheck": "memcheck", "racecheck": "racecheck", "initcheck": "initcheck", "synccheck": "synccheck",
}

// sanitizerOptions make a program continue after a report and print its frames in the form that readReports
// knows: addr2line resolves their lines, and no other tool is needed.
const sanitizerOptions = "symbolize=0:color=never:print_summary=0:exitcode=0:allocator_may_return_null=1:" +
	"handle_abort=0:stack_trace_format='@%n|%m|%o'"

var sanitizerOwnOptions = map[string]string{
	"address": "halt_on_error=0:detect_leaks=1:detect_stack_use_after_return=0:print_legend=0:" +
		"abort_on_error=0",
	"thread": "halt_on_error=0:report_thread_leaks=0:second_deadlock_stack=1:atexit_sleep_ms=0",
}

// environmentOf returns the environment that makes a sanitized program write its reports into a folder.
func (s *Sanitized) environmentOf(folder string) []string {
	options := sanitizerOptions + ":log_path=" + filepath.Join(folder, "report")
	own := options + ":" + sanitizerOwnOptions[s.Name]
	return []string{
		"CUEMU_REPORTS=" + filepath.Join(folder, "where"), "CUEMU_WORKERS=1", "CUEMU_ORDER=forward",
		"ASAN_OPTIONS=" + own, "TSAN_OPTIONS=" + own,
		"UBSAN_OPTIONS=symbolize=0:log_path=" + filepath.Join(folder, "report"), "LSAN_OPTIONS=",
	}
}

// sanitized runs the programs built with sanitizers, and adds what only they find. It skips them if the
// program did not end by itself: they would not end either.
func (r *Report) sanitized(ctx context.Context, q Request, first *run) error {
	if len(q.Sanitized) == 0 {
		return nil
	}
	if first.late || first.memory > 0 || first.status == hangStatus {
		r.Notes = append(r.Notes, "The sanitizers were left out: the program does not come to its end.")
		return nil
	}
	reported := slices.Clone(r.Findings)
	for i := range q.Sanitized {
		s := &q.Sanitized[i]
		found, notes, err := s.run(ctx, q)
		if err != nil {
			return err
		}
		r.Sanitizers = append(r.Sanitizers, s.Name)
		r.Notes = append(r.Notes, notes...)
		r.addSanitized(found, reported)
	}
	return nil
}

// addSanitized adds a sanitizer's findings. At a line where the emulator found something, the emulator's
// finding is better and the sanitizer's is dropped; exceptions are a crash in host code, of which the
// emulator knows only the signal, and kinds that it does not check.
func (r *Report) addSanitized(found, reported []Finding) {
	for _, f := range found {
		reported := !slices.Contains([]Kind{SignedOverflow, Shift, Undefined}, f.Kind) &&
			slices.ContainsFunc(reported, func(g Finding) bool {
				return g.Kind != HostCrash &&
					g.isAt(f.Place)
			})
		twice := slices.ContainsFunc(r.Findings, func(g Finding) bool {
			return g.same(&f) && (f.Place.known() || f.Message == g.Message)
		})
		if reported || twice {
			continue
		}
		r.Findings = slices.DeleteFunc(r.Findings, func(g Finding) bool {
			return g.Kind == HostCrash && (g.isAt(f.Place) || !g.Place.known() && f.Check == "SEGV")
		})
		r.Findings = append(r.Findings, f)
	}
}

// isAt reports whether line is one of the two sides of the finding.
func (f *Finding) isAt(line *Place) bool {
	return line.known() && (f.Place.known() && *f.Place == *line || f.Other.known() && *f.Other == *line)
}

// run runs the program once. The notes name what was not checked.
func (s *Sanitized) run(ctx context.Context, q Request) (found []Finding, notes []string, err error) {
	temporary, err := scratch.Make("sanitizer")
	if err != nil {
		return nil, nil, fmt.Errorf("make a folder for the reports of a sanitizer: %w", err)
	}
	defer temporary.Remove()
	folder := temporary.Path
	own := q
	own.Program, own.Counts, own.environment = s.Program, false, s.environmentOf(folder)
	one, err := own.once(ctx, folder, "forward")
	if err != nil {
		return nil, nil, err
	}
	reports, text, err := reportsIn(folder)
	if err != nil {
		return nil, nil, err
	}
	text = append(text, one.output...)
	if m := reportFailed.FindSubmatch(text); m != nil {
		return nil, nil, &SanitizerError{s.Name, string(m[1])}
	}
	undefined, err := readEmulatorRecords(filepath.Join(folder, "where"), reports)
	if err != nil {
		return nil, nil, err
	}
	if found, err = s.findings(ctx, undefined, reports); err != nil {
		return nil, nil, err
	}
	if leaksFailed.Match(text) {
		notes = append(notes, "Leaks of host memory were not looked for: LeakSanitizer does not work in a "+
			"debugger, under strace, or in a container without ptrace.")
	} else if note := s.ending(&one); note != "" && len(found) == 0 {
		notes = append(notes, note)
	}
	return found, notes, nil
}

// ending describes an end that may hide mistakes; "" if the program came to its end.
func (s *Sanitized) ending(one *run) string {
	name := sanitizerNames[s.Name]
	switch {
	case one.late:
		return fmt.Sprintf("Under %s the program was stopped after %v, and only what it did until then was "+
			"looked at (--limit run=DURATION).", name, one.took.Round(time.Second))
	case one.memory > 0:
		return fmt.Sprintf("Under %s the program had %d MiB and was stopped, for this machine has not much "+
			"more; only what it did until then was looked at.", name, one.memory>>20)
	case one.signal != "":
		return fmt.Sprintf("Under %s the program ended by %s.", name, one.signal)
	case one.status != 0:
		lines := strings.Split(strings.TrimSpace(string(one.output)), "\n")
		return fmt.Sprintf("Under %s the program ended with exit status %d, and its last line was %q.", name,
			one.status, shortened(lines[len(lines)-1]))
	}
	return ""
}

// reportsIn reads the reports in a folder, and returns their text too. Each process of a program has its own
// file.
func reportsIn(folder string) (all []sanitizerReport, text []byte, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "report*"))
	if err != nil {
		return nil, nil, fmt.Errorf("find the reports of a sanitizer: %w", err)
	}
	for _, name := range files {
		part, err := os.ReadFile(name)
		if err != nil {
			return nil, nil, fmt.Errorf("read the reports of a sanitizer: %w", err)
		}
		some, err := readReports(bytes.NewReader(part))
		if err != nil {
			return nil, nil, fmt.Errorf("read the reports of a sanitizer: %w", err)
		}
		all, text = append(all, some...), append(text, part...)
	}
	return all, text, nil
}

// emulatorRecord is the record that the emulator writes for each report: the kernel, block and thread that
// ran, and for UndefinedBehaviorSanitizer the whole finding.
type emulatorRecord struct {
	Finding
	BlockDim [3]int `json:"block_dim"`
	Cluster  int    `json:"cluster"` // blocks of a cluster of the launch
	Stack    string `json:"stack"`   // offsets of the program, innermost first
}

// readEmulatorRecords reads the emulator's records, assigns one to each report, and returns the findings of
// undefined behaviour. The emulator writes in the order of the reports; it writes nothing for a leak, which
// is found at the end.
func readEmulatorRecords(name string, reports []sanitizerReport) (undefined []emulatorRecord, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read the emulator's records of a sanitizer's reports: %w", err)
	}
	var places []*emulatorRecord
	for _, line := range bytes.Split(text, []byte("\n")) {
		var b emulatorRecord
		if json.Unmarshal(line, &b) != nil { // the last line of a killed program
			continue
		}
		if b.Kind == "undefined" {
			undefined = append(undefined, b)
		} else {
			places = append(places, &b)
		}
	}
	for i := range reports {
		if reports[i].hasEmulatorRecord() && len(places) > 0 {
			reports[i].where, places = places[0], places[1:]
		}
	}
	return undefined, nil
}
