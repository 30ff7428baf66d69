package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"triad/internal/backend"
)

// Builder builds libraries for the emulator from the embedded sources and from users' kernel files, into a
// cache.
type Builder struct {
	Sources  fs.FS // laid out like the repository: cuda/abi.h, cuda/kernels, cuda/include, cuda/emulator
	Cache    string
	Compiler HostCompiler
}

// Library is a built library. Source is the content hash of the kernel file, its includes and flags,
// independent of the compiler.
type Library struct {
	Path   string
	Second string // the second library of a file that has two; "" else
	Source string
	Facts  backend.BuildFacts
}

// Flags of every build for the emulator. Contraction of a*b+c depends on the processor, so it is off; unique
// symbols would merge the statics of two libraries. Kernels read eight halves as a float4, as nvcc permits.
// A local variable that nobody sets holds a pattern: else it is often 0, and a sum that begins nowhere right.
var (
	commonFlags = []string{"-std=c++17", "-g1", "-fPIC", "-shared", "-pthread", "-ffp-contract=off"}
	kernelFlags = []string{
		"-O2", "-fno-strict-aliasing", "-Icuda/emulator", "-include", "cuda_runtime.h", "-Icuda",
		"-Icuda/include", "-Wno-unknown-pragmas", "-ftrivial-auto-var-init=pattern",
	}
	// alignedFlags make the compiler check at every access that the address is a multiple of the type's
	// alignment. Misaligned accesses go to the emulator (cuda/emulator/findings.cc); the compiler's library
	// for them is not linked. g++ reads two halves at once wherever they lie, and four floats one by one.
	alignedFlags = []string{"-fsanitize=alignment", "-fsanitize-recover=alignment"}
	// withoutSanitizers makes g++ link nothing of a sanitizer.
	WithoutSanitizers = []string{"-nodefaultlibs", "-lstdc++", "-lm", "-lc", "-lgcc_s"}
	emulatorFlags     = []string{"-O2", "-Icuda/emulator", "-Icuda"}
	// watchedFlags report every ordinary access of a kernel to the emulator (cuda/emulator/access.cc) by the
	// calls meant for ThreadSanitizer, which is not linked.
	watchedFlags      = []string{"-fsanitize=thread", "-DCUEMU_ACCESSES"}
	watchedFlagsGCC   = []string{"--param=tsan-instrument-func-entry-exit=0"}
	watchedFlagsClang = []string{
		"-mllvm", "-tsan-instrument-func-entry-exit=0", "-mllvm", "-tsan-instrument-read-before-write=1",
	}
)

// WatchedFlags returns the flags of a kernel file that includes asynchronous instructions.
func (b *Builder) WatchedFlags() []string {
	if b.Compiler.Clang {
		return append(slices.Clone(watchedFlags), watchedFlagsClang...)
	}
	return append(slices.Clone(watchedFlags), watchedFlagsGCC...)
}

func (b *Builder) common() []string {
	if b.Compiler.Clang {
		return commonFlags
	}
	return append(slices.Clone(commonFlags), "-fno-gnu-unique")
}

// usualFlags returns the flags of every kernel file; several is for one that may access several elements at
// once.
func (b *Builder) usualFlags(several bool) []string {
	flags := slices.Concat(b.common(), kernelFlags)
	if several && !b.Compiler.Clang {
		flags = append(flags, alignedFlags...)
	}
	return flags
}

// Emulator builds the emulator's runtime, the one library that the kernel libraries share.
func (b *Builder) Emulator(ctx context.Context) (Library, error) {
	return b.EmulatorWith(ctx, emulatorFlags)
}

// EmulatorVersion returns a hash of the emulator's sources and flags.
func (b *Builder) EmulatorVersion() (string, error) {
	files, err := b.EmulatorSources()
	if err != nil {
		return "", err
	}
	return hashFiles(files, emulatorFlags)[:12], nil
}

// EmulatorWith builds the emulator's library with further compiler flags. An *Error says that it does not
// compile.
func (b *Builder) EmulatorWith(ctx context.Context, more []string) (Library, error) {
	files, err := b.EmulatorSources()
	if err != nil {
		return Library{}, err
	}
	flags := slices.Concat(b.common(), more)
	var units []string
	for _, at := range sortedKeys(files) {
		if ext := path.Ext(at); ext == ".cc" || ext == ".cpp" {
			units = append(units, at)
		}
	}
	return b.build(ctx, "emulator", "cuda/emulator", files, []part{{"libemulator.so", units, flags}},
		hashFiles(files, flags))
}

// Kernels builds the library of one kernel file: the name of an operator, whose file is cuda/kernels/<op>.cu
// of the sources, or the path of a .cu on disk. A file that does not compile gives a *Error.
func (b *Builder) Kernels(ctx context.Context, file string) (Library, error) {
	set, err := Gather(b.Sources, KernelFile(file))
	if err != nil {
		return Library{}, err
	}
	if !set.CallsUserFile() {
		return b.kernelsOf(ctx, set)
	}
	return WithoutAbsentHeaders(set, b.Cache, func() (Library, error) { return b.kernelsOf(ctx, set) })
}

// kernelsOf builds the library of a gathered kernel file.
func (b *Builder) kernelsOf(ctx context.Context, set *SourceSet) (Library, error) {
	files, notes, err := set.Rewritten()
	if err != nil {
		return Library{}, err
	}
	emulator, err := b.EmulatorSources()
	if err != nil {
		return Library{}, err
	}
	asked, err := set.Flags()
	if err != nil {
		return Library{}, err
	}
	emulated, err := CheckFlags(asked)
	if err != nil {
		return Library{}, err
	}
	flags := slices.Concat(b.usualFlags(set.takesSeveral()), emulated, set.AbsentFlags())
	for at, text := range emulator {
		if _, mine := files[at]; !mine {
			files[at] = text
		}
	}
	parts, err := b.parts(set, files, flags)
	if err != nil {
		return Library{}, err
	}
	library, err := b.build(ctx, strings.TrimSuffix(path.Base(set.Main), ".cu"), set.Name, files, parts,
		set.hash(flags))
	for _, n := range notes {
		library.Facts.LogTail = fmt.Sprintf("%s:%d: note: %s\n", set.Name, n.Line, n.Text) +
			library.Facts.LogTail
	}
	return library, err
}

// KernelFile returns the path of a kernel file that was named by its operator or by its path.
func KernelFile(name string) string {
	if name == RuntimeName {
		return "cuda/runtime/runtime.cu"
	}
	if strings.HasSuffix(name, ".cu") {
		if filepath.IsAbs(name) || strings.HasPrefix(name, ".") {
			return name
		}
		return "./" + name
	}
	return "cuda/kernels/" + name + ".cu"
}

// EmulatorSources returns the emulator's files and the kernel interface, by their path in the sources.
func (b *Builder) EmulatorSources() (map[string][]byte, error) {
	files, err := tree(b.Sources, "cuda/emulator", ".h", ".hpp", ".cuh", ".inc", ".cc", ".cpp", "")
	if err != nil {
		return nil, err
	}
	abi, err := fs.ReadFile(b.Sources, "cuda/abi.h")
	if err != nil {
		return nil, fmt.Errorf("read the kernel interface: %w", err)
	}
	files["cuda/abi.h"] = abi
	return files, nil
}

// part is one library of a build: its name, the units that it is compiled from, and the flags.
type part struct {
	output       string
	units, flags []string
}

// build compiles units, paths in files, into one library or two. The key of the cache is a hash of all files,
// the flags and the compiler.
func (b *Builder) build(ctx context.Context, name, author string, files map[string][]byte, parts []part,
	source string,
) (Library, error) {
	var flags []string
	for _, p := range parts {
		flags = append(flags, p.flags...)
	}
	key := name + "-" + hashFiles(files, append(flags, b.Compiler.Path, b.Compiler.Version))
	folder, made, cached, err := cache{b.Cache}.get(ctx, key, func(folder string) (record, error) {
		began := time.Now()
		if err := layOut(filepath.Join(folder, "src"), files, flags); err != nil {
			return record{}, err
		}
		log, err := b.compileParts(ctx, author, folder, files, parts)
		if err != nil {
			return record{}, err
		}
		r := record{
			Compiler: b.Compiler.Version, Flags: parts[0].flags, Seconds: time.Since(began).Seconds(),
			Log: tail(log, 8<<10),
		}
		return r, os.RemoveAll(filepath.Join(folder, "src"))
	})
	if err != nil {
		var mistake *Error
		if errors.As(err, &mistake) {
			return Library{}, mistake
		}
		return Library{}, fmt.Errorf("build the library of %s: %w", author, err)
	}
	facts := backend.BuildFacts{
		Compiler: made.Compiler, Flags: made.Flags, Seconds: made.Seconds,
		Cached: cached, LogTail: made.Log,
	}
	if cached {
		facts.Seconds = 0
	}
	library := Library{Path: filepath.Join(folder, parts[0].output), Source: source, Facts: facts}
	if len(parts) > 1 {
		library.Second = filepath.Join(folder, parts[1].output)
	}
	return library, nil
}

func hashFiles(files map[string][]byte, flags []string) string {
	h := sha256.New()
	for _, at := range sortedKeys(files) {
		fmt.Fprintf(h, "%d:%s%d:", len(at), at, len(files[at]))
		h.Write(files[at])
	}
	for _, flag := range flags {
		fmt.Fprintf(h, "%d:%s", len(flag), flag)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// layOut writes the files of a build, and makes the folders in which the flags look for headers: a header
// whose path begins with ../ is found only from a folder that exists.
func layOut(folder string, files map[string][]byte, flags []string) error {
	for _, at := range HeaderFolders(flags) {
		if err := os.MkdirAll(filepath.Join(folder, filepath.FromSlash(at)), 0o755); err != nil {
			return fmt.Errorf("lay out the sources of a build: %w", err)
		}
	}
	return writeTree(folder, files)
}

func writeTree(folder string, files map[string][]byte) error {
	for at, text := range files {
		name := filepath.Join(folder, filepath.FromSlash(at))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return fmt.Errorf("lay out the sources of a build: %w", err)
		}
		if err := os.WriteFile(name, text, 0o644); err != nil {
			return fmt.Errorf("lay out the sources of a build: %w", err)
		}
	}
	return nil
}
