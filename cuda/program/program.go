package program

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"triad/cuda/build"
	"triad/cuda/rewrite"
	"triad/internal/userfile"
)

// Source is a user's program: a CUDA file with a main, or a folder of files of which one has it.
type Source struct {
	File    string
	Text    string   // of the file, where it is not the one on disk
	Main    string   // C++ appended to the file, with the main() that it lacks; "": it has one
	Include []string // folders, as a compiler's -I
	Define  []string // NAME or NAME=VALUE, as a compiler's -D
	Std     string   // the language, as a compiler's -std; "": c++17, as nvcc's
	Debug   bool     // for a debugger: not optimised, accesses not reported
	Counts  bool     // report every basic block that a thread runs to the emulator
	// Observed: what it allocates, copies and launches is recorded, and its kernels do not run
	Observed bool

	// Sanitizer is one of the compiler's sanitizers, with which the program is built instead of with watched
	// accesses.
	Sanitizer Sanitizer
}

// Program is a program built for the emulator, with every access of its kernels reported to it.
type Program struct {
	Path  string
	Files []string // the program's own files, absolute
	Notes []rewrite.Note
	texts [][]byte // of Files; for a user's program without triad's headers
}

// ReturnsEarly reports whether a kernel, by its name in a launch, may end before its last line; also if the
// program's own files do not have the kernel.
func (p Program) ReturnsEarly(kernel string) bool {
	known := false
	for _, text := range p.texts {
		found, returns := rewrite.ReturnsEarly(text, kernel)
		if returns {
			return true
		}
		known = known || found
	}
	return !known
}

// Error is a file that cannot be checked as a program: something is missing, or unsupported.
type Error struct {
	File string
	Line int // 0: of the whole file
	Text string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Text)
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Text)
}

// Flags of programs. Inlined functions of the emulator's headers have the line of the kernel that calls them;
// copies by the C library are calls, which the linker redirects to the emulator. addr2line of binutils 2.40
// takes the file names of #line from DWARF 4 only.
var (
	programFlags = []string{
		"-std=c++17", "-O1", "-gdwarf-4", "-pthread", "-ffp-contract=off", "-fno-strict-aliasing",
		"-Wno-unknown-pragmas",
		"-fno-builtin-memcpy", "-fno-builtin-memmove", "-fno-builtin-memset",
		"-fno-builtin-printf", "-U_FORTIFY_SOURCE", // which would call another printf
		"-fsanitize=thread,alignment,bounds,integer-divide-by-zero", "-fsanitize-recover=all",
		"-DCUEMU_ACCESSES", "-Icuda/emulator", "-include", "cuda_runtime.h",
	}
	programFlagsGCC = []string{
		"-finline-small-functions", "--param=tsan-instrument-func-entry-exit=0",
		"--param=tsan-distinguish-volatile=1",
	}
	// clang++ traps where it knows an allocation's size, keeps no return address of a tail call, and omits a
	// read that a write of the same place follows.
	programFlagsClang = []string{
		"-fno-sanitize-link-runtime", "-mllvm", "-tsan-instrument-func-entry-exit=0",
		"-mllvm", "-tsan-distinguish-volatile=1", "-mllvm", "-tsan-instrument-read-before-write=1",
		"-fno-sanitize=local-bounds", "-fno-optimize-sibling-calls",
	}
	// programLink keeps the compiler's own sanitizer libraries out: the emulator defines the called
	// functions.
	programLink = []string{
		"-nodefaultlibs", "-lstdc++", "-lm", "-lc", "-lgcc_s", "-lpthread",
		"-Wl,--wrap=memcpy,--wrap=memmove,--wrap=memset,--wrap=malloc,--wrap=free,--wrap=clock,--wrap=printf",
		"-Wl,--wrap=_Znwm,--wrap=_Znam,--wrap=_ZdlPv,--wrap=_ZdlPvm,--wrap=_ZdaPv,--wrap=_ZdaPvm",
	}
)

var (
	mainFunction   = regexp.MustCompile(`\bmain\s*\(`)
	kernelFunction = regexp.MustCompile(`\b__global__\b`)
)

// Build builds a program for the emulator. A file that does not compile gives a *build.Error, one that
// is no program to check a *Error.
func Build(ctx context.Context, b *build.Builder, p Source) (Program, error) {
	set, flags, err := gatherProgram(b.Sources, p)
	if err != nil {
		return Program{}, err
	}
	program, err := programIn(ctx, b, set, flags, p)
	var mistake *build.Error
	if errors.As(err, &mistake) {
		if text := absentFeature(set, mistake); text != "" {
			return Program{}, &Error{
				File: cmp.Or(mistake.File, set.Name), Line: mistake.Line, Text: text,
			}
		}
	}
	return program, err
}

// programIn builds a program in the requested form.
func programIn(ctx context.Context, b *build.Builder, set *build.SourceSet, flags []string, p Source) (
	Program, error,
) {
	switch {
	case p.Sanitizer != "":
		return sanitizedProgram(ctx, b, set, flags, p)
	case p.Debug:
		return programOf(ctx, b, set, slices.Concat(debugFlags(), flags), p.Main)
	case p.Observed:
		return build.WithoutAbsentHeaders(set, b.Cache, func() (Program, error) {
			return observedProgram(ctx, b, set, slices.Concat(flags, set.AbsentFlags()))
		})
	case p.Counts:
		flags = append(flags, countsFlags(b)...)
	}
	return programOf(ctx, b, set, slices.Concat(checkedFlags(b), flags), p.Main)
}

// programOf builds a program from a set of files; appended is text behind the main file.
func programOf(ctx context.Context, b *build.Builder, set *build.SourceSet, flags []string, appended string) (
	Program, error,
) {
	emulator, err := b.Emulator(ctx)
	if err != nil {
		return Program{}, fmt.Errorf("build the emulator: %w", err)
	}
	return programWith(ctx, b, set, parts{
		flags: flags, appended: appended, link: slices.Concat([]string{emulator.Path}, programLink),
	})
}

// parts adds to the files of a program: flags, text behind the main file, and what is linked, beginning with
// the emulator's path. edit changes the rewritten files, if it is not nil.
type parts struct {
	flags    []string
	appended string
	link     []string
	edit     func(files map[string][]byte)
}

// programWith builds a program from a set of files and further parts.
func programWith(ctx context.Context, b *build.Builder, set *build.SourceSet, with parts) (Program, error) {
	files, notes, err := set.Rewritten()
	if err != nil {
		return Program{}, err
	}
	headers, err := b.EmulatorSources()
	if err != nil {
		return Program{}, err
	}
	built := Program{Notes: notes}
	ofUser := filepath.IsAbs(set.Files[set.Main].Name)
	for _, at := range set.Paths() {
		f := set.Files[at]
		built.Files = append(built.Files, f.Name)
		if !ofUser || filepath.IsAbs(f.Name) { // triad's macros are not in the user's kernels
			built.texts = append(built.texts, f.Text)
		}
	}
	for at, text := range headers {
		if path.Ext(at) != ".cc" {
			files[at] = text
		}
	}
	if with.edit != nil {
		with.edit(files)
	}
	files[set.Main] = append(files[set.Main], with.appended...)
	var units []string
	for _, at := range append([]string{set.Main}, set.OtherUnits...) {
		units = append(units, at+".cc")
		files[at+".cc"] = files[at]
		delete(files, at)
	}
	flags := slices.Clone(with.flags)
	if set.Home != "" {
		flags = append(flags, "-iquote", set.Home)
	}
	const warnOfArrays = "-Wvla" // it changes what a precompiled header may be used for
	withPrelude := func(ctx context.Context) []string {
		return append(b.WithPreludeOf(ctx, countedCallFlags(b), files, flags, warnOfArrays), warnOfArrays)
	}
	built.Path, err = b.Executable(ctx, build.ExecutableSource{
		Author: set.Name, Files: files, Units: units, Flags: append(slices.Clone(flags), warnOfArrays),
		Compiled: withPrelude, Link: with.link,
		CheckWarning: func(log string) error { return arrayOnDevice(set, log) },
	})
	return built, err
}

// debugFlags returns flags that keep variables in memory from line to line, and nothing below the stack
// pointer: a debugger may change threads between two lines.
func debugFlags() []string {
	flags := []string{
		"-std=c++17", "-O0", "-g", "-gdwarf-4", "-pthread", "-ffp-contract=off", "-fno-strict-aliasing",
		"-Wno-unknown-pragmas", "-Icuda/emulator", "-include", "cuda_runtime.h",
	}
	if runtime.GOARCH == "amd64" {
		flags = append(flags, "-mno-red-zone")
	}
	return flags
}

func checkedFlags(b *build.Builder) []string {
	if b.Compiler.Clang {
		return slices.Concat(programFlags, programFlagsClang)
	}
	return slices.Concat(programFlags, programFlagsGCC)
}

// countsFlags returns flags that make each basic block call the emulator. g++ would split a structure of 16
// bytes into its members, whose accesses nvcc makes as one.
func countsFlags(b *build.Builder) []string {
	flags := []string{"-fsanitize-coverage=trace-pc"}
	if !b.Compiler.Clang {
		flags = append(flags, "-fno-tree-sra")
	}
	return flags
}

// countedCallFlags returns the flags of a program of single calls that counts accesses and finds nothing.
func countedCallFlags(b *build.Builder) []string {
	flags := slices.Concat(checkedFlags(b), callIncludes, countsFlags(b))
	for i, flag := range flags {
		switch {
		case strings.HasPrefix(flag, "-fsanitize=thread"):
			flags[i] = "-fsanitize=thread"
		case flag == "-gdwarf-4":
			flags[i] = "-g1" // lines are enough
		}
	}
	return flags
}

// gatherProgram reads a program with the files it includes, and makes flags of its folders and macros.
func gatherProgram(embedded fs.FS, p Source) (*build.SourceSet, []string, error) {
	file, err := filepath.Abs(p.File)
	if err != nil {
		return nil, nil, fmt.Errorf("resolve %s: %w", p.File, err)
	}
	units, err := unitsOf(file)
	if err != nil {
		return nil, nil, err
	}
	set := &build.SourceSet{Name: file, Home: filepath.Dir(units[0]), Files: map[string]build.SourceFile{}}
	var flags []string
	for _, folder := range p.Include {
		at, err := filepath.Abs(folder)
		if err != nil {
			return nil, nil, fmt.Errorf("resolve %s: %w", folder, err)
		}
		set.Search = append(set.Search, path.Join(build.OnDisk, filepath.ToSlash(at)))
		flags = append(flags, "-I"+path.Join(build.OnDisk, filepath.ToSlash(at)), "-I"+at)
	}
	flags = append(flags, p.macros()...)
	for _, unit := range units {
		at := path.Join(build.OnDisk, filepath.ToSlash(unit))
		text, err := []byte(p.Text), error(nil)
		if p.Text == "" {
			text, err = userfile.Read(unit)
		}
		if err != nil {
			return nil, nil, unreadable(unit, err)
		}
		if bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")) {
			return nil, nil, &Error{File: unit, Text: "it is text in UTF-16, which compilers do not " +
				"read: save it as UTF-8"}
		}
		set.Files[at] = build.SourceFile{Name: unit, Text: text}
		set.OtherUnits = append(set.OtherUnits, at)
	}
	for _, at := range slices.Clone(set.OtherUnits) {
		if err := set.Follow(embedded, at, set.Files[at].Text); err != nil {
			return nil, nil, err
		}
		for _, include := range rewrite.Includes(set.Files[at].Text) { // an included .cu is no unit
			included := path.Join(path.Dir(at), include.Name)
			set.OtherUnits = slices.DeleteFunc(set.OtherUnits, func(unit string) bool {
				return unit == included && unit != at // one that includes itself is
			})
		}
	}
	return set, flags, chooseMain(set, p)
}

// macros returns the flags of the source's macros and language, which are the same for compilers and nvcc.
func (p *Source) macros() []string {
	flags := []string{"-std=" + cmp.Or(p.Std, "c++17")}
	for _, d := range p.Define {
		flags = append(flags, "-D"+d)
	}
	return flags
}

// unreadable returns the error of a file that cannot be read, with the system's reason.
func unreadable(name string, err error) error {
	var reason *fs.PathError
	if errors.As(err, &reason) {
		return &Error{File: name, Text: reason.Err.Error()}
	}
	return err
}

// unitsOf lists the files to compile: the file, or the .cu, .cpp and .cc files of a folder.
func unitsOf(name string) ([]string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, unreadable(name, err)
	}
	if !info.IsDir() {
		return []string{name}, nil
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		return nil, unreadable(name, err)
	}
	var units []string
	for _, e := range entries {
		if ext := path.Ext(e.Name()); !e.IsDir() && (ext == ".cu" || ext == ".cpp" || ext == ".cc") {
			units = append(units, filepath.Join(name, e.Name()))
		}
	}
	if len(units) == 0 {
		return nil, &Error{File: name, Text: "there is no .cu file in this folder"}
	}
	return units, nil
}

// chooseMain chooses the file with the main(), and returns an error if a set of files cannot be checked.
func chooseMain(s *build.SourceSet, p Source) error {
	kernels := false
	for _, at := range s.Paths() {
		f := s.Files[at]
		if text, line := absentLibrary(f.Text); text != "" && !p.Observed {
			return &Error{File: f.Name, Line: line, Text: text}
		}
		kernels = kernels || kernelFunction.Match(rewrite.Code(f.Text))
	}
	var mains []string
	for _, at := range s.OtherUnits {
		if mainFunction.Match(rewrite.Code(s.Files[at].Text)) {
			mains = append(mains, at)
		}
	}
	switch {
	case !kernels:
		return &Error{File: s.Name, Text: "there is no __global__ function in it: nothing to check; " +
			"triad compare OP --add FILE judges a Python file"}
	case p.Main != "": // it is not in the files
		mains = s.OtherUnits[:1]
	case len(mains) == 0:
		return &Error{File: s.Name, Text: "it has no main(): add one that allocates, launches and " +
			"copies back, or have extern \"C\" solve launch the kernels, so that there is something to " +
			"run; triad compare OP --add FILE calls a function by its parameters"}
	case len(mains) > 1:
		return &Error{
			File: s.Name,
			Text: fmt.Sprintf("%s and %s both have a main(): these are several "+
				"programs: check one file after the other", path.Base(mains[0]), path.Base(mains[1])),
		}
	}
	if e := wrongSide(s); e != nil {
		return e
	}
	s.Main = mains[0]
	s.OtherUnits = slices.DeleteFunc(s.OtherUnits, func(at string) bool { return at == s.Main })
	return nil
}

// wrongSide returns an error if a file uses something of the other side, host or device, that nvcc refuses.
func wrongSide(s *build.SourceSet) error {
	var texts []rewrite.Text
	for _, at := range s.Paths() {
		texts = append(texts, rewrite.Text{Name: s.Files[at].Name, Text: s.Files[at].Text})
	}
	if e := rewrite.WrongSide(texts); e != nil {
		return &Error{File: e.File, Line: e.Line, Text: e.Text}
	}
	return nil
}

// SourceLine is a line of a source file; Line 0: not known.
type SourceLine struct {
	File string
	Line int
}

// Lines asks addr2line for the lines of addresses in the program's own files. An address in a header
// of the emulator has the line that the header's function was inlined into.
func Lines(
	ctx context.Context,
	program string,
	files []string,
	offsets []uint64,
) (map[uint64]SourceLine,
	error,
) {
	if len(offsets) == 0 {
		return nil, nil
	}
	args := []string{"-a", "-i", "-e", program}
	for _, at := range offsets {
		args = append(args, fmt.Sprintf("%#x", at))
	}
	out, err := build.RunTool(ctx, "addr2line", args)
	if err != nil {
		return nil, fmt.Errorf("find the lines of a program's addresses: %w", err)
	}
	lines := map[uint64]SourceLine{}
	var current uint64
	for _, text := range strings.Split(strings.TrimSpace(out), "\n") {
		if address, is := strings.CutPrefix(text, "0x"); is {
			current, _ = strconv.ParseUint(address, 16, 64)
			continue
		}
		text, _, _ = strings.Cut(text, " (discriminator")
		at := strings.LastIndexByte(text, ':')
		if at < 0 || lines[current].Line != 0 {
			continue
		}
		line, _ := strconv.Atoi(text[at+1:])
		if name, own := ownName(files, path.Clean(text[:at])); line > 0 && own {
			lines[current] = SourceLine{name, line}
		}
	}
	return lines, nil
}
