package backend

import (
	"encoding/json"
	"slices"

	"triad/internal/op"
)

// Protocol is the version of the wire that driver and workers greet each other with.
const Protocol = 1

// MaxLine is the longest JSON line either side accepts, in bytes.
const MaxLine = 1 << 20

// Do names a request.
type Do string

// The requests a worker answers.
const (
	DoHello   Do = "hello"
	DoLoad    Do = "load"
	DoRun     Do = "run"
	DoProbe   Do = "probe"
	DoMeasure Do = "measure"
	DoBye     Do = "bye"
)

// Request is one JSON line from the driver. IDs rise by one from 1.
type Request struct {
	ID      int64        `json:"id"`
	Do      Do           `json:"do"`
	Hello   *HelloArgs   `json:"hello,omitempty"`
	Load    *LoadArgs    `json:"load,omitempty"`
	Run     *RunArgs     `json:"run,omitempty"`
	Measure *MeasureArgs `json:"measure,omitempty"`
}

// Reply is one JSON line from a worker; ID is that of its request. Error is set if the harness failed; a
// kernel's fault is an outcome inside the result.
type Reply struct {
	ID     int64           `json:"id"`
	Error  string          `json:"error,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
}

// HelloArgs greets a worker. MemoryBytes is the size of the shared memory behind file descriptor 4.
type HelloArgs struct {
	Protocol    int   `json:"protocol"`
	MemoryBytes int64 `json:"memory_bytes"`
}

// HelloReply describes a worker.
type HelloReply struct {
	Protocol int               `json:"protocol"`
	Device   string            `json:"device"` // "gpu", "emulator", "interpreter", "cpu"
	Versions map[string]string `json:"versions"`
	PID      int               `json:"pid"`
}

// LoadArgs names an operator whose implementations are wanted, or the path of a kernel file: a library's
// contents are known only once it is built. Slot is the adapter's name for the worker, which says what will
// run in it: once it has answered, the worker may prepare for that.
type LoadArgs struct {
	Op   string `json:"op"`
	Slot string `json:"slot,omitempty"`
}

// LoadReply lists the implementations of an operator, one entry a pass and contract. Failed names those that
// could not be loaded.
type LoadReply struct {
	Implementations []Implementation `json:"implementations"`
	Failed          []LoadFailure    `json:"failed,omitempty"`
	Build           *BuildFacts      `json:"build,omitempty"`
}

// LoadFailure names implementations (a prefix such as "cuda" or "triton") that could not be loaded, and why:
// the first message of the compiler or the interpreter, with file and line.
type LoadFailure struct {
	Implementation string `json:"implementation"`
	// BUILD_FAIL or UNAVAILABLE; INTERRUPTED if this machine was in trouble: nothing is known of them
	Status  op.Status `json:"status"`
	Message string    `json:"message"`
	Log     string    `json:"log,omitempty"`
}

// Implementation is one version of one pass of an operator, as it registered itself.
type Implementation struct {
	Name             string   `json:"name"` // "cuda/warp"
	Op               string   `json:"op"`
	Pass             op.Pass  `json:"pass"`
	DTypes           []string `json:"dtypes"`   // of the main input, for fp8_gemm the case's dtype names
	Contract         string   `json:"contract"` // the name it declares for these dtypes
	Forward          string   `json:"forward,omitempty"`
	Outputs          []string `json:"outputs"` // the names of those it returns
	Nondeterministic []string `json:"nondeterministic,omitempty"`
	Recomputes       bool     `json:"recomputes,omitempty"`
	Constraint       string   `json:"constraint,omitempty"`
	Device           string   `json:"device"` // "gpu", "emulator", "interpreter", "cpu"
	Source           string   `json:"source"` // content hash of its sources; of triad's own, of flags too
	// the flags with which a user's file is compiled and called; not on the wire
	Flags string `json:"-"`
	// why a wrong answer is no verdict: guesses about a user's file; not on the wire
	Doubts []Doubt `json:"-"`
	// the family of a library whose operations a function of the user's may call, "torch": known faults of
	// those that it does call are no fault of the function
	Calls string `json:"-"`
	// why its forward cannot be judged: it chooses elements by random numbers of its own. Its backward is
	// judged by the choice that its forward makes. Not on the wire
	Draws string `json:"-"`
	// "quick1", "quick2": at most so many cases a pass and dtype with --quick, none of them trivial
	// (torch.compile)
	Limit string `json:"limit,omitempty"`
}

// Doubt is a reason why a wrong answer of a user's function is no verdict: a guess about its file, and the
// cases where the guess cannot be to blame.
type Doubt struct {
	Why   string
	Sizes []op.Dims // at which the function was right
	DType string    // the guess is about the other ones
	In    []string  // the dtypes that the guess is about; none: each but DType
	Only  string    // the distribution that the guess is about; "" for each
	// the output that the guess is about, if only that is wrong; "" for all
	Output string
	Races  bool // it does not excuse a race
}

// About reports whether the guess may explain a wrong answer in a case.
func (d Doubt) About(c op.Case) bool {
	right := slices.ContainsFunc(d.Sizes, func(s op.Dims) bool { return slices.Equal(s, c.Dims) })
	return !right && (d.Only == "" || c.Distribution == d.Only) && (d.DType == "" || c.DType != d.DType) &&
		(len(d.In) == 0 || slices.Contains(d.In, c.DType))
}

// Everywhere reports whether the guess applies to every case and output.
func (d Doubt) Everywhere() bool {
	return len(d.Sizes) == 0 && d.DType == "" && len(d.In) == 0 && d.Only == "" && d.Output == ""
}

// BuildFacts holds the facts and the log of a build.
type BuildFacts struct {
	Compiler string       `json:"compiler"`
	Flags    []string     `json:"flags"`
	Seconds  float64      `json:"seconds"` // 0 if the cache had it
	Cached   bool         `json:"cached"`
	Kernels  []KernelFact `json:"kernels,omitempty"`
	LogTail  string       `json:"log_tail,omitempty"`
}

// KernelFact holds the numbers that ptxas reported for one kernel.
type KernelFact struct {
	Kernel      string `json:"kernel"`
	Arch        string `json:"arch"`
	Registers   int    `json:"registers"`
	SharedBytes int    `json:"shared_bytes"`
	SpillBytes  int    `json:"spill_bytes"`
}

// TensorRef is a tensor in the shared memory: Offset and Bytes place its storage (in bytes from the start of
// the memory), Start is the index of its first element in that storage, strides count elements. CRC32 is that
// of the storage bytes (IEEE polynomial: the one that Go and Python both have at full speed).
type TensorRef struct {
	Name   string   `json:"name"`
	DType  op.DType `json:"dtype"`
	Shape  []int64  `json:"shape"`
	Stride []int64  `json:"stride"`
	Start  int64    `json:"start,omitempty"`
	Offset int64    `json:"offset"`
	Bytes  int64    `json:"bytes"`
	CRC32  uint32   `json:"crc32"`
}

// AttrRef is one resolved attribute: Number as the C ABI gets it, Text its canonical form.
type AttrRef struct {
	Name   string  `json:"name"`
	Type   string  `json:"type"` // "bool", "int", "float", "enum"
	Number float64 `json:"number"`
	Text   string  `json:"text"`
}

// RunArgs are one case for one implementation: the same call, launched once for each entry of Launches into
// fresh, poisoned outputs.
type RunArgs struct {
	Op             string      `json:"op"`
	Implementation string      `json:"implementation"`
	Pass           op.Pass     `json:"pass"`
	DType          string      `json:"dtype"`
	Contract       string      `json:"contract"`
	Attrs          []AttrRef   `json:"attrs"`
	Inputs         []TensorRef `json:"inputs"`
	Launches       []Launch    `json:"launches"`
	// code compiled for the call is for its sizes alone
	SizesAlone bool `json:"sizes_alone,omitempty"`
	// the arguments of a function of a user's CUDA file, as its library reads them
	// (cuda/include/own_call.cuh)
	Words []int64 `json:"words,omitempty"`
}

// Launch is one launch: which poison fills outputs and workspace before it (see tensor.Poison), the schedule
// order (emulator only: "forward", OrderReverse, "random:SEED", "greedy:SEED"; for a row that goes through
// autograd "one by one": each gradient from a backward in which its input alone requires one; for any row of
// Python OrderRecorded, and in the interpreter OrderConfiguration), where its buffers lie (emulator only) and
// where its outputs go.
type Launch struct {
	Poison  string      `json:"poison"`
	Order   string      `json:"order,omitempty"`
	Place   string      `json:"place,omitempty"`
	Outputs []TensorRef `json:"outputs"`
}

// Where the emulator puts the buffers of a launch relative to the guards that nothing may touch: at the end,
// aligned to 16, so that the gap is less than 16 bytes; at the beginning, at the same address modulo 128.
// Exact leaves no gap: at the end a buffer may then be aligned only to its elements, so that such a launch
// counts only for accesses out of bounds, and accepts is not asked: it accepted the call elsewhere.
const (
	PlaceEnd        = ""
	PlaceBegin      = "begin"
	PlaceExactEnd   = "exact end"
	PlaceExactBegin = "exact begin"
)

// OrderReverse is the schedule order of the emulator in which the last thread of the last block comes first.
const OrderReverse = "reverse"

// OrderRecorded asks which operations of the library the launch calls: see LaunchReply.Calls.
const OrderRecorded = "recorded"

// OrderConfiguration, with a number behind it, makes autotuned kernels take the configuration of that number,
// modulo how many they have, while other launches take the first: see LaunchReply.Configurations.
const OrderConfiguration = "configuration "

// RunReply has the reply of each launch that took place. A launch that did not end "ok" is the last.
type RunReply struct {
	Launches  []LaunchReply `json:"launches"`
	PeakBytes int64         `json:"peak_bytes,omitempty"` // device memory
	WallNS    int64         `json:"wall_ns,omitempty"`
	// the worker ends after this reply: its process is no longer clean
	Fatal bool `json:"fatal,omitempty"`
}

// LaunchReply is the outcome of one launch.
type LaunchReply struct {
	// empty if the call returned normally; else UNSUPPORTED, OUT_OF_BOUNDS, DIVERGENT, DEADLOCK, OOM, CRASH
	Status  op.Status     `json:"status,omitempty"`
	Message string        `json:"message,omitempty"`
	Where   *Where        `json:"where,omitempty"`
	Inputs  []uint32      `json:"inputs"` // IEEE crc32 of each input's storage afterwards
	Guards  []GuardReport `json:"guards,omitempty"`
	// another forbidden effect of the call, in one clause: "left 1 thread running after it returned"
	Fault   string      `json:"fault,omitempty"`
	Outputs []OutputRef `json:"outputs"`
	// the operations of torch's dispatcher that an OrderRecorded launch called, "aten.gelu", each once
	Calls []string `json:"calls,omitempty"`
	// interpreter only: the configurations of the autotuned kernel that has most of them, in words, if they
	// differ for the interpreter
	Configurations []string `json:"configurations,omitempty"`
	Traffic        *Traffic `json:"traffic,omitempty"` // interpreter only: of the launch's kernels
}

// Traffic holds the bytes that kernels of Triton read and wrote, without those of lanes that a mask leaves
// out.
type Traffic struct {
	ReadBytes  int64 `json:"read_bytes"`
	WriteBytes int64 `json:"write_bytes"`
}

// OutputRef describes what was returned for one output: Present is false for an optional output that was not
// given. DType, Shape and Stride are those of the tensor the implementation made.
type OutputRef struct {
	Name    string  `json:"name"`
	Present bool    `json:"present"`
	DType   string  `json:"dtype,omitempty"`
	Shape   []int64 `json:"shape,omitempty"`
	Stride  []int64 `json:"stride,omitempty"`
	CRC32   uint32  `json:"crc32,omitempty"`
	// what a function returned, if it is no plain tensor
	Type string `json:"type,omitempty"`
}

// GuardReport reports changed guard bytes around a buffer. Bytes is the distance of the first changed byte
// from the buffer: negative before it, 0 or more counted from its end.
type GuardReport struct {
	Buffer string `json:"buffer"`
	Bytes  int64  `json:"bytes"`
	Count  int64  `json:"count"`
}

// Where is the place in a kernel that a finding points to; what is not known is empty.
type Where struct {
	Kernel string  `json:"kernel,omitempty"`
	Block  *[3]int `json:"block,omitempty"`
	Thread *[3]int `json:"thread,omitempty"`
	File   string  `json:"file,omitempty"`
	Line   int     `json:"line,omitempty"`
}
