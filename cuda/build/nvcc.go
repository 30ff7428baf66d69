package build

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"triad/internal/backend"
	"triad/internal/subprocess"
)

// NVCC is NVIDIA's compiler.
type NVCC struct {
	Path    string
	Version string
	Library string // the folder of libcudart_static.a if nvcc does not find it itself, else ""
}

// FindNVCC finds nvcc: on PATH, in CUDA_HOME or CUDA_PATH, where the toolkit is usually installed, or in the
// site-packages of a Python environment, whose folder python is ("" for none). The error is a
// *backend.Unavailable.
func FindNVCC(ctx context.Context, python string) (NVCC, error) {
	for _, at := range nvccPlaces(python) {
		if at == "" {
			continue
		}
		if info, err := os.Stat(at); err != nil || info.IsDir() {
			continue
		}
		n := NVCC{Path: at}
		home := filepath.Dir(filepath.Dir(at))
		if static := filepath.Join(home, "lib", "libcudart_static.a"); fileExists(static) {
			n.Library = filepath.Dir(static)
		}
		out, err := subprocess.Run(ctx, subprocess.Command{
			Path: at, Args: []string{"--version"},
			Deadline: askLimit,
		})
		if err != nil {
			return NVCC{}, &backend.Unavailable{Sentence: fmt.Sprintf("cannot use %s: %v", at, err)}
		}
		n.Version = nvccVersion.FindString(out)
		return n, nil
	}
	return NVCC{}, &backend.Unavailable{Sentence: "no nvcc: put the CUDA toolkit's on PATH or name the " +
		"toolkit with CUDA_HOME, " +
		"or fetch the pinned wheels with triad setup --nvcc"}
}

var nvccVersion = regexp.MustCompile(`V\d+\.\d+\.\d+`)

func fileExists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// toolkits lists the folders in which the CUDA toolkit is usually installed.
var toolkits = []string{"/usr/local/cuda", "/opt/cuda"}

// nvccPlaces lists where nvcc may be, in order.
func nvccPlaces(python string) []string {
	var places []string
	if at, err := exec.LookPath("nvcc"); err == nil {
		places = append(places, at)
	}
	for _, home := range append([]string{os.Getenv("CUDA_HOME"), os.Getenv("CUDA_PATH")}, toolkits...) {
		if home != "" {
			places = append(places, filepath.Join(home, "bin", "nvcc"))
		}
	}
	for _, environment := range []string{python, os.Getenv("VIRTUAL_ENV")} {
		if environment == "" {
			continue
		}
		for _, pattern := range []string{
			"lib/python3*/site-packages/nvidia/cu1*/bin/nvcc",
			"nvidia/cu1*/bin/nvcc",
		} {
			found, _ := filepath.Glob(filepath.Join(environment, pattern))
			slices.Reverse(found)
			places = append(places, found...)
		}
	}
	return places
}

// GPUBuilder builds libraries for GPUs, with code for each of Architectures ("sm_80", "sm_90a") and PTX of
// the last that has successors: PTX for an architecture with a letter, "sm_90a", runs on that one only.
type GPUBuilder struct {
	Sources       fs.FS
	Cache         string
	Compiler      NVCC
	Architectures []string
}

// Kernels builds the library of one kernel file, named as for Builder. Facts.Kernels has ptxas's figures for
// each kernel; a file that does not compile gives a *Error.
func (b *GPUBuilder) Kernels(ctx context.Context, file string) (Library, error) {
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
func (b *GPUBuilder) kernelsOf(ctx context.Context, set *SourceSet) (Library, error) {
	flags, err := b.flagsOf(set)
	if err != nil {
		return Library{}, err
	}
	source := set.hash(flags)
	if set.Home != "" {
		flags = append(flags, "-I", set.Home)
	}
	if b.Compiler.Library != "" {
		flags = append(flags, "-L"+b.Compiler.Library)
	}
	abi, err := fs.ReadFile(b.Sources, "cuda/abi.h")
	if err != nil {
		return Library{}, fmt.Errorf("read the kernel interface: %w", err)
	}
	files := set.plain()
	files["cuda/abi.h"] = abi
	name := strings.TrimSuffix(path.Base(set.Main), ".cu")
	output := "lib" + name + ".so"
	key := name + "-gpu-" + hashFiles(files, append(slices.Clone(flags), b.Compiler.Path, b.Compiler.Version))
	folder, made, cached, err := cache{b.Cache}.get(ctx, key, func(folder string) (record, error) {
		began := time.Now()
		if err := layOut(filepath.Join(folder, "src"), files, flags); err != nil {
			return record{}, err
		}
		log, err := compile(ctx, filepath.Join(folder, "src"), b.Compiler.Path, append(slices.Clone(flags),
			set.Main, "-o", filepath.Join(folder, output)))
		if err != nil {
			return record{}, compileFailure(ctx, err, set.Name, strings.ReplaceAll(log, OnDisk+"/", "/"))
		}
		return record{
			Compiler: "nvcc " + b.Compiler.Version, Flags: flags,
			Seconds: time.Since(began).Seconds(), Log: log,
		}, os.RemoveAll(filepath.Join(folder, "src"))
	})
	if err != nil {
		var mistake *Error
		if errors.As(err, &mistake) {
			return Library{}, mistake
		}
		return Library{}, fmt.Errorf("build the library of %s: %w", set.Name, err)
	}
	facts := backend.BuildFacts{
		Compiler: made.Compiler, Flags: made.Flags, Seconds: made.Seconds, Cached: cached,
		Kernels: PtxasFacts(made.Log),
		LogTail: tail(made.Log, 8<<10),
	}
	if cached {
		facts.Seconds = 0
	}
	return Library{Path: filepath.Join(folder, output), Source: source, Facts: facts}, nil
}

// Compile runs nvcc in folder and returns its output. If nvcc refuses the author's file the error is a
// *Error.
func (b *GPUBuilder) Compile(ctx context.Context, folder, author string, args []string) (string, error) {
	log, err := compile(ctx, folder, b.Compiler.Path, args)
	if err != nil {
		return "", compileFailure(ctx, err, author, log)
	}
	return log, nil
}

// flagsOf returns the flags of a set, independent of its place: ours, and those that it asks for.
func (b *GPUBuilder) flagsOf(set *SourceSet) ([]string, error) {
	asked, err := set.Flags()
	if err != nil {
		return nil, err
	}
	asked = slices.Concat(asked, set.AbsentFlags())
	flags := append(b.flags(), asked...)
	if slices.ContainsFunc(asked, func(f string) bool { return strings.HasPrefix(f, "-O") }) {
		// nvcc accepts one level
		flags = slices.DeleteFunc(flags,
			func(f string) bool { return f == "-O3" && !slices.Contains(asked, f) })
	}
	if slices.ContainsFunc(asked, func(f string) bool { return strings.HasPrefix(f, "-std=") }) {
		flags = slices.DeleteFunc(flags,
			func(f string) bool { return f == standard && !slices.Contains(asked, f) })
	}
	if names := set.wrapped(); len(names) > 0 {
		flags = append(flags, "-Xlinker", "--wrap="+strings.Join(names, ",--wrap="))
	}
	return flags, nil
}

// wrappers lists the headers that stand between a library and functions of the runtime.
var wrappers = []string{"cuda/include/watched_launch.cuh", "cuda/include/own_calls.cuh"}

// wraps matches where such a header names a function that it replaces, without the suffix of a per-thread
// default stream.
var wraps = regexp.MustCompile(`(?:TRIAD_[A-Z_]+\(|__wrap_)(_*cuda[A-Za-z0-9]+)`)

// wrapped returns the functions of the runtime that the set's headers replace.
func (s *SourceSet) wrapped() []string {
	var names []string
	for _, header := range wrappers {
		for _, m := range wraps.FindAllSubmatch(s.Files[header].Text, -1) {
			if name := string(m[1]); !slices.Contains(names, name) {
				names = append(names, name, name+"_ptsz", name+"_ptds")
			}
		}
	}
	return names
}

// standard is the language standard of a file that asks for none.
const standard = "-std=c++17"

func (b *GPUBuilder) flags() []string {
	flags := []string{
		standard, "-O3", "-lineinfo", "--shared", "-Xcompiler", "-fPIC", "-Xptxas", "-v",
		"-Icuda", "-Icuda/include",
	}
	portable := -1
	for i, arch := range b.Architectures {
		if strings.TrimRight(arch, "af") == arch {
			portable = i
		}
	}
	for i, arch := range b.Architectures {
		number := strings.TrimPrefix(arch, "sm_")
		code := arch
		if i == portable {
			code = fmt.Sprintf("[%s,compute_%s]", arch, number)
		}
		flags = append(flags, "-gencode", fmt.Sprintf("arch=compute_%s,code=%s", number, code))
	}
	return flags
}

var (
	ptxasEntry = regexp.MustCompile(`Compiling entry function '([^']+)' for '([^']+)'`)
	ptxasSpill = regexp.MustCompile(`(\d+) bytes spill stores, (\d+) bytes spill loads`)
	ptxasUsed  = regexp.MustCompile(`Used (\d+) registers`)
	ptxasSmem  = regexp.MustCompile(`(\d+) bytes smem`)
)

// PtxasFacts parses the output of "ptxas -v" for each kernel. Spills are the larger of stores and loads.
func PtxasFacts(log string) []backend.KernelFact {
	var facts []backend.KernelFact
	for _, line := range strings.Split(log, "\n") {
		if m := ptxasEntry.FindStringSubmatch(line); m != nil {
			facts = append(facts, backend.KernelFact{Kernel: m[1], Arch: m[2]})
			continue
		}
		if len(facts) == 0 {
			continue
		}
		last := &facts[len(facts)-1]
		if m := ptxasSpill.FindStringSubmatch(line); m != nil {
			last.SpillBytes = max(number(m[1]), number(m[2]))
		}
		if m := ptxasUsed.FindStringSubmatch(line); m != nil {
			last.Registers = number(m[1])
		}
		if m := ptxasSmem.FindStringSubmatch(line); m != nil {
			last.SharedBytes = number(m[1])
		}
	}
	return facts
}

func number(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}

// AtLeast reports whether the compiler's major version is at least major. It accepts an unreadable version:
// nvcc will report a problem itself.
func (n NVCC) AtLeast(major int) bool {
	digits := versionNumber.FindString(n.Version)
	return digits == "" || number(digits) >= major
}
