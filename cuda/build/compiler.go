package build

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"triad/internal/backend"
	"triad/internal/subprocess"
)

// HostCompiler is a C++ compiler that can build kernels for the emulator.
type HostCompiler struct {
	Path    string
	Clang   bool
	Version string // the first line of --version
}

// The oldest compilers with the C++17 that the emulator needs.
const (
	oldestGCC   = 12
	oldestClang = 15
)

// FindHostCompiler finds the compiler that the environment variable CXX names, else the first of g++ and
// clang++ on PATH that is new enough. The error is a *backend.Unavailable.
func FindHostCompiler(ctx context.Context) (HostCompiler, error) {
	if cxx := os.Getenv("CXX"); cxx != "" {
		c, err := InspectHostCompiler(ctx, cxx)
		if err != nil {
			return HostCompiler{},
				&backend.Unavailable{Sentence: fmt.Sprintf("cannot use the C++ compiler that CXX names: %v",
					err)}
		}
		return c, nil
	}
	var found []string
	for _, name := range []string{
		"g++", "clang++", "g++-14", "g++-13", "g++-12", "clang++-19", "clang++-18",
		"clang++-17", "clang++-16", "clang++-15",
	} {
		c, err := InspectHostCompiler(ctx, name)
		if err == nil {
			return c, nil
		}
		if _, missing := exec.LookPath(name); missing == nil {
			found = append(found, err.Error())
		}
	}
	message := fmt.Sprintf("no C++ compiler for the CUDA emulator: install g++ %d or newer (Debian and "+
		"Ubuntu: apt install g++; Fedora: dnf install gcc-c++) "+
		"or clang++ %d or newer, or name one with CXX", oldestGCC, oldestClang)
	if len(found) > 0 {
		message += "; found " + strings.Join(found, "; ")
	}
	return HostCompiler{}, &backend.Unavailable{Sentence: message}
}

// askLimit is the time limit of a compiler or a tool for printing its version.
const askLimit = 20 * time.Second

var versionNumber = regexp.MustCompile(`\d+`)

// InspectHostCompiler asks the compiler of a name or path for its version. An error says that there is none,
// or that it does not run.
func InspectHostCompiler(ctx context.Context, name string) (HostCompiler, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return HostCompiler{}, fmt.Errorf("find %s: %w", name, err)
	}
	ask := subprocess.Command{Path: path, Args: []string{"--version"}, Deadline: askLimit}
	out, err := subprocess.Run(ctx, ask)
	if err != nil {
		return HostCompiler{}, fmt.Errorf("run %s --version: %w", path, err)
	}
	first, _, _ := strings.Cut(out, "\n")
	c := HostCompiler{Path: path, Clang: strings.Contains(first, "clang"), Version: strings.TrimSpace(first)}
	ask.Args = []string{"-dumpversion"}
	number, err := subprocess.Run(ctx, ask)
	if err != nil {
		return HostCompiler{}, fmt.Errorf("run %s -dumpversion: %w", path, err)
	}
	major, _ := strconv.Atoi(versionNumber.FindString(number))
	oldest := oldestGCC
	if c.Clang {
		oldest = oldestClang
	}
	if major < oldest {
		return HostCompiler{}, fmt.Errorf("%s is version %d, want %d or newer", path, major, oldest)
	}
	return c, nil
}

// mostCompiling is the memory limit of a compiler, far more than any of our kernels needs. A file can include
// an endless one, such as /dev/zero under a name that a macro builds.
const mostCompiling = 8 << 30

// compile runs a compiler in folder and returns its combined output.
func compile(ctx context.Context, folder, compiler string, args []string) (log string, err error) {
	var out strings.Builder
	_, err = subprocess.Run(ctx, subprocess.Command{
		Path: compiler, Args: args, Dir: folder,
		Env: append(os.Environ(), "LC_ALL=C"), Stdout: &out, Stderr: &out,
		Most: subprocess.Usage{Bytes: mostCompiling},
	})
	if ctx.Err() != nil {
		return out.String(), fmt.Errorf("run %s: %w", compiler, err)
	}
	return out.String(), err
}

// Each captures the file, the line and the message. nvcc writes file(line): error: message.
var (
	errorLine = regexp.MustCompile(`(?m)^([^\s:(][^:(\n]*)[:(](\d+)(?::\d+:|\):|:) (?:fatal )?[eE]rror(?: ` +
		`#[\w-]+)?: (.*)$`)
	placeLine = regexp.MustCompile(`(?m)^\s*(?:In file included from |from ` +
		`)?([^\s:(][^:(\n]*)[:(](\d+)(?:[:,)].*)?$`)
	linkError = regexp.MustCompile(`(?m)^.*(?:undefined reference|multiple definition|undefined ` +
		`symbol|cannot find -l|ptxas (?:error|fatal)|nvlink error).*$`)
)

// CompilerMessage returns the first error of g++, clang or nvcc: its file, line and text.
func CompilerMessage(log string) (file, line, text string, ok bool) {
	m := errorLine.FindStringSubmatch(log)
	if m == nil {
		return "", "", "", false
	}
	return m[1], m[2], m[3], true
}

var (
	tooMuchShared = regexp.MustCompile(`Entry function '([^']+)' uses too much shared data ` +
		`\((0x[0-9a-f]+) bytes, (0x[0-9a-f]+) max\)`)
	mangled = regexp.MustCompile(`^_Z(\d+)(\w+)$`)
)

// sharedData describes a kernel in which ptxas found more __shared__ variables than a block may have; "" if
// there is none.
func sharedData(log string) string {
	m := tooMuchShared.FindStringSubmatch(log)
	if m == nil {
		return ""
	}
	kernel := m[1]
	if parts := mangled.FindStringSubmatch(kernel); parts != nil { // of a plain name
		kernel = parts[2][:min(number(parts[1]), len(parts[2]))]
	}
	bytes, _ := strconv.ParseInt(m[2], 0, 64)
	most, _ := strconv.ParseInt(m[3], 0, 64)
	return fmt.Sprintf("the kernel %s declares %d bytes of static shared memory, more than the %d that a "+
		"block may have", kernel, bytes, most)
}

// firstError makes a *Error from a compiler's output. A message inside a header that is not the author's
// is placed at the first line of the author's file that the compiler mentions on the way there.
func firstError(author, log string) *Error {
	e := &Error{File: author, Log: tail(log, 8<<10)}
	m := errorLine.FindStringSubmatchIndex(log)
	if m == nil {
		e.Message = strings.TrimSpace(linkError.FindString(log))
		if much := sharedData(log); much != "" {
			e.Message = much
		}
		if e.Message == "" {
			first, _, _ := strings.Cut(strings.TrimSpace(log), "\n")
			e.Message = "the compiler failed: " + first
		}
		return e
	}
	file, line := log[m[2]:m[3]], log[m[4]:m[5]]
	e.File, e.Message = file, log[m[6]:m[7]]
	e.Line, _ = strconv.Atoi(line)
	if file == author {
		return e
	}
	start := m[0]
	for start > 0 { // the lines before that belong to the message: "In instantiation of", "required from"
		before := strings.LastIndexByte(log[:start-1], '\n') + 1
		if !placeContext(log[before : start-1]) {
			break
		}
		start = before
	}
	// A template's mistake belongs to the line that instantiates it; any other, to the line that includes the
	// file.
	way := log[start:min(len(log), m[1]+2000)]
	for _, asks := range []bool{true, false} {
		for _, place := range placeLine.FindAllStringSubmatch(way, -1) {
			if place[1] != author || asks != (strings.Contains(place[0], "required from") ||
				strings.Contains(place[0], "requested here")) {
				continue
			}
			e.Message = fmt.Sprintf("%s (at %s:%s)", e.Message, file, line)
			e.File = author
			e.Line, _ = strconv.Atoi(place[2])
			return e
		}
	}
	return e
}

func placeContext(line string) bool {
	for _, word := range []string{
		"In file included from", "from ", "required from", "In instantiation of",
		"In substitution of", "In function", "In member function", "required by",
	} {
		if strings.Contains(line, word) {
			return true
		}
	}
	return false
}

// FirstNotes returns the part of a compiler's output between its first and its second error.
func FirstNotes(log string) string {
	found := errorLine.FindAllStringIndex(log, 2)
	switch len(found) {
	case 0:
		return ""
	case 1:
		return log[found[0][1]:]
	}
	return log[found[0][1]:found[1][0]]
}
