package cuda

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
	"time"

	"triad/cuda/rewrite"
	"triad/internal/userfile"
)

// ProgramSource is a user's program: a CUDA file with a main, or a folder of files of which one has it.
type ProgramSource struct {
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

// ProgramError is a file that cannot be checked as a program: something is missing, or unsupported.
type ProgramError struct {
	File string
	Line int // 0: of the whole file
	Text string
}

func (e *ProgramError) Error() string {
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

// Program builds a program for the emulator. A file that does not compile gives a *BuildError, one that is no
// program to check a *ProgramError.
func (b *Builder) Program(ctx context.Context, p ProgramSource) (Program, error) {
	set, flags, err := gatherProgram(b.Sources, p)
	if err != nil {
		return Program{}, err
	}
	program, err := b.programIn(ctx, set, flags, p)
	var mistake *BuildError
	if errors.As(err, &mistake) {
		if text := set.absentFeature(mistake); text != "" {
			return Program{}, &ProgramError{
				File: cmp.Or(mistake.File, set.name), Line: mistake.Line, Text: text,
			}
		}
	}
	return program, err
}

// programIn builds a program in the requested form.
func (b *Builder) programIn(ctx context.Context, set *sourceSet, flags []string, p ProgramSource) (
	Program, error,
) {
	if p.Sanitizer != "" {
		return b.sanitizedProgram(ctx, set, flags, p)
	}
	if p.Debug {
		return b.programOf(ctx, set, slices.Concat(b.debugFlags(), flags), p.Main)
	}
	if p.Observed {
		return b.observedProgram(ctx, set, flags)
	}
	if p.Counts {
		flags = append(flags, b.countsFlags()...)
	}
	return b.programOf(ctx, set, slices.Concat(b.programFlags(), flags), p.Main)
}

// programOf builds a program from a set of files; behind is appended to the main file.
func (b *Builder) programOf(
	ctx context.Context,
	set *sourceSet,
	flags []string,
	behind string,
) (Program, error) {
	emulator, err := b.Emulator(ctx)
	if err != nil {
		return Program{}, fmt.Errorf("build the emulator: %w", err)
	}
	return b.programWith(ctx, set, flags, behind, slices.Concat([]string{emulator.Path}, programLink))
}

// programWith is programOf with an emulator and further objects: link begins with the emulator's path.
func (b *Builder) programWith(
	ctx context.Context,
	set *sourceSet,
	flags []string,
	behind string,
	link []string,
) (Program, error) {
	files, notes, err := set.rewritten()
	if err != nil {
		return Program{}, err
	}
	headers, err := b.emulatorTree()
	if err != nil {
		return Program{}, err
	}
	built := Program{Notes: notes}
	ofUser := filepath.IsAbs(set.files[set.main].name)
	for _, at := range set.order() {
		f := set.files[at]
		built.Files = append(built.Files, f.name)
		if !ofUser || filepath.IsAbs(f.name) { // triad's macros are not in the user's kernels
			built.texts = append(built.texts, f.text)
		}
	}
	for at, text := range headers {
		if path.Ext(at) != ".cc" {
			files[at] = text
		}
	}
	if set.observed {
		withTemplateArguments(files)
	}
	files[set.main] = append(files[set.main], behind...)
	var units []string
	for _, at := range append([]string{set.main}, set.beside...) {
		units = append(units, at+".cc")
		files[at+".cc"] = files[at]
		delete(files, at)
	}
	if set.home != "" {
		flags = append(flags, "-iquote", set.home)
	}
	const warnOfArrays = "-Wvla" // it changes what a precompiled header may be used for
	flags = b.withPreludeOf(ctx, b.countedCallFlags(), files, flags, warnOfArrays)
	built.Path, err = b.buildProgram(ctx, set, files, units, append(slices.Clone(flags), warnOfArrays), link)
	return built, err
}

// debugFlags returns flags that keep variables in memory from line to line, and nothing below the stack
// pointer: a debugger may change threads between two lines.
func (b *Builder) debugFlags() []string {
	flags := []string{
		"-std=c++17", "-O0", "-g", "-gdwarf-4", "-pthread", "-ffp-contract=off", "-fno-strict-aliasing",
		"-Wno-unknown-pragmas", "-Icuda/emulator", "-include", "cuda_runtime.h",
	}
	if runtime.GOARCH == "amd64" {
		flags = append(flags, "-mno-red-zone")
	}
	return flags
}

func (b *Builder) programFlags() []string {
	if b.Compiler.Clang {
		return slices.Concat(programFlags, programFlagsClang)
	}
	return slices.Concat(programFlags, programFlagsGCC)
}

// countsFlags returns flags that make each basic block call the emulator. g++ would split a structure of 16
// bytes into its members, whose accesses nvcc makes as one.
func (b *Builder) countsFlags() []string {
	flags := []string{"-fsanitize-coverage=trace-pc"}
	if !b.Compiler.Clang {
		flags = append(flags, "-fno-tree-sra")
	}
	return flags
}

// countedCallFlags returns the flags of a program of single calls that counts accesses and finds nothing.
func (b *Builder) countedCallFlags() []string {
	flags := slices.Concat(b.programFlags(), callIncludes, b.countsFlags())
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
func gatherProgram(embedded fs.FS, p ProgramSource) (*sourceSet, []string, error) {
	file, err := filepath.Abs(p.File)
	if err != nil {
		return nil, nil, fmt.Errorf("resolve %s: %w", p.File, err)
	}
	units, err := unitsOf(file)
	if err != nil {
		return nil, nil, err
	}
	set := &sourceSet{
		name: file, home: filepath.Dir(units[0]), files: map[string]sourceFile{}, search: []string{},
	}
	var flags []string
	for _, folder := range p.Include {
		at, err := filepath.Abs(folder)
		if err != nil {
			return nil, nil, fmt.Errorf("resolve %s: %w", folder, err)
		}
		set.search = append(set.search, path.Join(onDisk, filepath.ToSlash(at)))
		flags = append(flags, "-I"+path.Join(onDisk, filepath.ToSlash(at)), "-I"+at)
	}
	flags = append(flags, p.macros()...)
	for _, unit := range units {
		at := path.Join(onDisk, filepath.ToSlash(unit))
		text, err := []byte(p.Text), error(nil)
		if p.Text == "" {
			text, err = userfile.Read(unit)
		}
		if err != nil {
			return nil, nil, unreadable(unit, err)
		}
		if bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")) {
			return nil, nil, &ProgramError{File: unit, Text: "it is text in UTF-16, which compilers do not " +
				"read: save it as UTF-8"}
		}
		set.files[at] = sourceFile{unit, text}
		set.beside = append(set.beside, at)
	}
	for _, at := range slices.Clone(set.beside) {
		if err := set.follow(embedded, at, set.files[at].text); err != nil {
			return nil, nil, err
		}
		for _, include := range rewrite.Includes(set.files[at].text) { // an included .cu is no unit
			included := path.Join(path.Dir(at), include.Name)
			set.beside = slices.DeleteFunc(set.beside, func(unit string) bool {
				return unit == included && unit != at // one that includes itself is
			})
		}
	}
	return set, flags, set.isProgram(p.Main != "")
}

// macros returns the flags of the source's macros and language, which are the same for compilers and nvcc.
func (p *ProgramSource) macros() []string {
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
		return &ProgramError{File: name, Text: reason.Err.Error()}
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
		return nil, &ProgramError{File: name, Text: "there is no .cu file in this folder"}
	}
	return units, nil
}

// isProgram returns an error if a set of files cannot be checked. It chooses the file with the main(); given:
// the main() is not in the files.
func (s *sourceSet) isProgram(given bool) error {
	kernels := false
	for _, at := range s.order() {
		f := s.files[at]
		if text, line := absentLibrary(f.text); text != "" {
			return &ProgramError{File: f.name, Line: line, Text: text}
		}
		kernels = kernels || kernelFunction.Match(rewrite.Code(f.text))
	}
	var mains []string
	for _, at := range s.beside {
		if mainFunction.Match(rewrite.Code(s.files[at].text)) {
			mains = append(mains, at)
		}
	}
	switch {
	case !kernels:
		return &ProgramError{File: s.name, Text: "there is no __global__ function in it: nothing to " +
			"check; triad compare OP --add FILE judges a Python file"}
	case given:
		mains = s.beside[:1]
	case len(mains) == 0:
		return &ProgramError{File: s.name, Text: "it has no main(): add one that allocates, launches and " +
			"copies back, or have extern \"C\" solve launch the kernels, so that there is something to " +
			"run; " +
			"triad compare OP --add FILE calls a function by its parameters"}
	case len(mains) > 1:
		return &ProgramError{
			File: s.name,
			Text: fmt.Sprintf("%s and %s both have a main(): these are several "+
				"programs: check one file after the other", path.Base(mains[0]), path.Base(mains[1])),
		}
	}
	if e := s.wrongSide(); e != nil {
		return e
	}
	s.main = mains[0]
	s.beside = slices.DeleteFunc(s.beside, func(at string) bool { return at == s.main })
	return nil
}

// wrongSide returns an error if a file uses something of the other side, host or device, that nvcc refuses.
func (s *sourceSet) wrongSide() error {
	var texts []rewrite.Text
	for _, at := range s.order() {
		texts = append(texts, rewrite.Text{Name: s.files[at].name, Text: s.files[at].text})
	}
	if e := rewrite.WrongSide(texts); e != nil {
		return &ProgramError{File: e.File, Line: e.Line, Text: e.Text}
	}
	return nil
}

// buildProgram compiles units into an executable that finds the emulator's library, the first that is linked,
// at its path.
func (b *Builder) buildProgram(ctx context.Context, set *sourceSet, files map[string][]byte, units,
	flags, link []string,
) (string, error) {
	link = slices.Concat(link, []string{"-Wl,-rpath," + filepath.Dir(link[0])})
	key := "program-" + hashFiles(
		files,
		slices.Concat(flags, link, []string{b.Compiler.Path, b.Compiler.Version}),
	)
	folder, _, _, err := cache{b.Cache}.get(ctx, key, func(folder string) (record, error) {
		began := time.Now()
		if err := writeTree(filepath.Join(folder, "src"), files); err != nil {
			return record{}, err
		}
		args := slices.Concat(flags, units, []string{"-o", filepath.Join(folder, "program")}, link)
		log, err := compile(ctx, filepath.Join(folder, "src"), b.Compiler.Path, args)
		if err != nil {
			return record{}, compileFailure(ctx, err, set.name, log)
		}
		if e := set.arrayOnDevice(log); e != nil {
			return record{}, e
		}
		r := record{
			Compiler: b.Compiler.Version, Flags: flags, Seconds: time.Since(began).Seconds(),
			Log: tail(log, 8<<10),
		}
		return r, os.RemoveAll(filepath.Join(folder, "src"))
	})
	var mistake *BuildError
	if errors.As(err, &mistake) {
		return "", mistake
	}
	if err != nil {
		return "", fmt.Errorf("build the program %s: %w", set.name, err)
	}
	return filepath.Join(folder, "program"), nil
}

// SourceLine is a line of a source file; Line 0: not known.
type SourceLine struct {
	File string
	Line int
}

// LinesOfProgram asks addr2line for the lines of addresses in the program's own files. An address in a header
// of the emulator has the line that the header's function was inlined into.
func LinesOfProgram(
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
	out, err := runTool(ctx, "addr2line", args)
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
