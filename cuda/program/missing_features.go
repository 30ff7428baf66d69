package program

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"triad/cuda/build"
	"triad/cuda/rewrite"
)

// absentLibraries matches includes of libraries that the emulator has nothing for.
var absentLibraries = regexp.MustCompile(`^(thrust|cub/|cutlass|cute/|cudnn|cublas|cufft|curand|cusparse|` +
	`cusolver|nccl|nvrtc|npp|cudaGL|cuda_gl|GL)`)

// presentOfLibraries matches the headers of such libraries that the emulator has, with the part that kernels
// use.
var presentOfLibraries = regexp.MustCompile(`^cub/(cub|block/block_(reduce|scan)|` +
	`warp/warp_(reduce|scan))\.cuh$`)

// noSuchFile matches a compiler's message about a missing include.
var noSuchFile = regexp.MustCompile(`(?:^|fatal error: )'?([^\s:']+)'?(?:: No such file| file not found)`)

// absentNames maps libraries to their usual names.
var absentNames = map[string]string{
	"thrust": "Thrust", "cub": "CUB", "cutlass": "CUTLASS", "cute": "CuTe", "cudnn": "cuDNN",
	"cublas": "cuBLAS", "cufft": "cuFFT", "curand": "cuRAND", "cusparse": "cuSPARSE",
	"cusolver": "cuSOLVER", "nccl": "NCCL", "nvrtc": "NVRTC", "npp": "NPP",
}

// absentLibrary names the first included library that the emulator lacks, and its line; "": none. Conditional
// includes are left to the compiler, which knows whether the condition holds.
func absentLibrary(text []byte) (sentence string, line int) {
	for _, include := range rewrite.Includes(text) {
		if sentence = libraryOf(include.Name); sentence != "" && !include.Conditional {
			return sentence, include.Line
		}
	}
	return "", 0
}

// libraryOf returns the sentence for an include of a missing library; "" for any other include.
func libraryOf(include string) string {
	name := absentLibraries.FindString(include)
	if name == "" || presentOfLibraries.MatchString(include) {
		return ""
	}
	return fmt.Sprintf("%s is included, a library for GPUs that the emulator does not have: check a file "+
		"with the kernels of your own", cmp.Or(absentNames[strings.TrimSuffix(name, "/")], name))
}

const partOfCUB = "of CUB the emulator has the most used reductions and scans of warps and blocks " +
	"alone: check a file with kernels of your own in place of the rest"

var (
	// missingOfCUB matches messages about a name, a function or its arguments that the emulator's CUB lacks.
	missingOfCUB = regexp.MustCompile(
		`[‘']\w+[’'] (is not a member of|in namespace) [‘']cub([’']|::(Warp|Block))|` +
			`no (type|template|member) named '\w+' in (namespace 'cub'|'cub::(Warp|Block))|` +
			`\bcub::(Warp|Block).*has no member named|` +
			`no matching (function|constructor) for [^'‘]*[‘']cub::(Warp|Block)|` +
			`\bcub/cub\.cuh:\d+: `, // in a template of it
	)
	// takenOtherwise matches messages that name no class, and candidateOfCUB the notes behind them if the
	// class is one of CUB's.
	takenOtherwise = regexp.MustCompile(`no matching member function for call to|` +
		`too (many|few) template arguments|wrong number of template arguments`)
	candidateOfCUB = regexp.MustCompile(`(?m)^\S*\bcub/cub\.cuh:.* note: `)
)

// LacksOfCUB returns a sentence if a compiler's first message is about something that the emulator's CUB
// lacks, else "". log is the compiler's output.
func LacksOfCUB(message, log string) string {
	if !missingOfCUB.MatchString(message) &&
		!(takenOtherwise.MatchString(message) && candidateOfCUB.MatchString(build.FirstNotes(log))) {
		return ""
	}
	return fmt.Sprintf("%s (%s)", partOfCUB, message)
}

// absentFeatures lists parts of CUDA that the emulator lacks, with patterns that find them and what to write
// instead. They are matched only against lines that do not compile.
var absentFeatures = []struct {
	words *regexp.Regexp
	text  string
}{
	{
		regexp.MustCompile(`\b(cuda(Texture|Surface)Object_t|(texture|surface)\s*<\s*\w+\s*[,>]|` +
			`tex[123]D\w*\s*[(<]|surf[123]D\w*\s*[(<]|cudaArray_t|cudaArray\s*\*|cudaMallocArray|cudaMalloc3DArray)`),
		"textures, surfaces and CUDA arrays are not in the emulator: read the array through a pointer " +
			"(const T *, or __ldg)",
	},
	{
		regexp.MustCompile(`\b(CUdeviceptr|CUresult|CUfunction|CUmodule|CUcontext|CUdevice)\b`),
		"the driver API (cuda.h) is not in the emulator: launch the kernel with <<<>>> and allocate with " +
			"cudaMalloc",
	},
	{
		regexp.MustCompile(`\b__(shfl|shfl_up|shfl_down|shfl_xor|ballot|any|all)\s*\(|` +
			`'__(shfl\w*|ballot|any|all)'`),
		"warp functions without a mask are gone from every GPU since sm_70: write the one with _sync, as " +
			"in __shfl_down_sync(0xffffffff, value, 1)",
	},
	{
		regexp.MustCompile(`\bcub::(Device|Grid|Thread|Caching)\w+|` +
			`\bcub::Block(Radix|Load|Store|Merge|Exchange|Histogram|Shuffle|Adjacent|Discontinuity|Run)\w*`),
		partOfCUB,
	},
	{
		regexp.MustCompile(`\bcudaIpc\w+`),
		"memory that several processes share (cudaIpc...) is not in the emulator: run it in one process",
	},
}

// newerLanguage matches compilers' messages about features of C++20 and later.
var newerLanguage = regexp.MustCompile(`[Cc]\+\+2[0-9a-c]|'(starts_with|ends_with|contains|concept|` +
	`requires|consteval|constinit|span|ranges|views|format|numbers|bit_cast|popcount|source_location)'`)

// absentFeature names what a line that does not compile uses and the emulator lacks; "": nothing known.
func absentFeature(s *build.SourceSet, mistake *build.Error) string {
	if m := noSuchFile.FindStringSubmatch(mistake.Message); m != nil && libraryOf(m[1]) != "" {
		return libraryOf(m[1])
	}
	if strings.Contains(mistake.Message, "cuemu_launch") {
		return "a launch wants blocks and threads, and may have bytes of shared memory and a stream: " +
			"kernel<<<blocks, threads, bytes, stream>>>(...)"
	}
	if strings.Contains(mistake.Message, "cuemu::Dynamic") {
		return "dynamic shared memory that is declared outside functions can be indexed and assigned to a " +
			"pointer here, and no more: declare it in the kernel (" + mistake.Message + ")"
	}
	lines := mistake.Message
	for _, f := range s.Files {
		all := strings.Split(string(rewrite.Code(f.Text)), "\n")
		if f.Name == mistake.File && mistake.Line > 0 && mistake.Line <= len(all) {
			lines += "\n" + all[mistake.Line-1]
		}
	}
	for _, f := range absentFeatures {
		if f.words.MatchString(lines) {
			return fmt.Sprintf("%s (%s)", f.text, mistake.Message)
		}
	}
	if text := LacksOfCUB(mistake.Message, mistake.Log); text != "" {
		return text
	}
	if newerLanguage.MatchString(mistake.Message) {
		return mistake.Message + ": if this is newer than C++17, say so by --std c++20"
	}
	if strings.Contains(mistake.Message, "undefined reference") && len(s.OtherUnits) == 0 {
		return strings.TrimPrefix(mistake.Message, s.Name+":") + ": if another file of the program has it, " +
			"check their folder"
	}
	return unknownAssembly(s, mistake)
}

// unknownAssembly returns the rewriter's note about inline PTX on the line of an error that the assembler
// found.
func unknownAssembly(s *build.SourceSet, mistake *build.Error) string {
	for _, f := range s.Files {
		if f.Name != mistake.File {
			continue
		}
		read, err := rewrite.Source(f.Name, f.Text)
		if err != nil {
			return ""
		}
		for _, n := range read.Notes {
			if n.Line == mistake.Line {
				return n.Text
			}
		}
	}
	return ""
}
