package gpuworker

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"triad/internal/check"
)

// toolKinds maps the words of the tools to kinds, in the order in which they are looked for.
var toolKinds = []struct {
	word string
	kind check.Kind
}{
	{"misaligned", check.Misaligned},
	{"leak", check.Leak},
	{"uninitialized", check.Uninitialised},
	{"hazard", check.Race},
	{"race", check.Race},
	{"barrier", check.Divergence},
	{"divergent", check.Divergence},
	{"double free", check.DoubleFree},
	{"invalid __", check.OutOfBounds},
	{"out of bounds", check.OutOfBounds},
	{"out-of-bounds", check.OutOfBounds},
	{"program hit", check.Launch},
}

// reported converts a tool's finding about a program to a check.Finding, which keeps the tool's words.
func (f Finding) reported(file string) check.Finding {
	kind := check.Trap
	for _, k := range toolKinds {
		if strings.Contains(strings.ToLower(f.What), k.word) {
			kind = k.kind
			break
		}
	}
	found := check.Finding{
		Kind: kind, Kernel: f.Kernel, Sanitizer: f.Tool, Check: f.What,
		Place: placeBeside(file, f.File, f.Line),
	}
	if f.Other != "" {
		found.Access, found.OtherAccess = access(f.What), access(f.Other)
		found.Other = placeBeside(file, f.OtherFile, f.OtherLine)
	}
	return found
}

// access returns the access of a thread in words such as "Write access".
func access(words string) string {
	if strings.Contains(words, "Write access") {
		return "write"
	}
	return "read"
}

// placeBeside returns a line of the program's file, or of one in its folder; nil if the tool names none.
func placeBeside(file, name string, line int) *check.Place {
	if line <= 0 {
		return nil
	}
	at := name
	if filepath.Base(file) == at {
		at = file
	} else if beside := filepath.Join(filepath.Dir(file), at); exists(beside) {
		at = beside
	}
	if whole, err := filepath.Abs(at); err == nil {
		at = whole
	}
	return &check.Place{File: at, Line: line}
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// sticky matches the CUDA errors after which every call fails: an illegal address, a misaligned one, a failed
// launch and the like.
var sticky = regexp.MustCompile(`\(error 7(00|1[0-9])\)`)

// uncounted matches a tool's message about findings that it does not show, having shown some.
var uncounted = regexp.MustCompile(`Error buffer overflow has been detected|\d+ errors were skipped`)

// reportedOnce drops findings that add nothing: a race between the same two lines; after a kernel was
// aborted, the calls that failed and the memory that was not freed; and the number of findings that a tool
// does not show.
func reportedOnce(reported []check.Finding) []check.Finding {
	broken := slices.ContainsFunc(reported, func(f check.Finding) bool {
		return f.Sanitizer == "memcheck" && f.Kernel != "" && f.Place != nil
	}) && slices.ContainsFunc(reported, func(f check.Finding) bool { return sticky.MatchString(f.Check) })
	var once []check.Finding
	for _, f := range reported {
		after := broken && f.Sanitizer == "memcheck" && (f.Kind == check.Leak || sticky.MatchString(f.Check))
		again := f.Kind == check.Race && slices.ContainsFunc(once, func(o check.Finding) bool {
			return o.Kind == f.Kind && o.Kernel == f.Kernel && sameLines(o, f)
		})
		more := uncounted.MatchString(f.Check) && slices.ContainsFunc(reported, func(o check.Finding) bool {
			return o.Sanitizer == f.Sanitizer && !uncounted.MatchString(o.Check)
		})
		if !after && !again && !more {
			once = append(once, f)
		}
	}
	return once
}

// sameLines reports whether two races are between the same lines, in either order.
func sameLines(a, b check.Finding) bool {
	line := func(p *check.Place) check.Place {
		if p == nil {
			return check.Place{}
		}
		return check.Place{File: p.File, Line: p.Line}
	}
	first, second := line(a.Place), line(a.Other)
	return first == line(b.Place) && second == line(b.Other) ||
		first == line(b.Other) && second == line(b.Place)
}
