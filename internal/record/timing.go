package record

import "triad/internal/op"

// Timing is the timing of one record in one regime. Times are ns per call.
type Timing struct {
	// "cold" or "warm"; then " burst" or " sustained" if it was not interleaved: "cold sustained"
	Regime string `json:"regime"`
	// PASS if the time is usable; UNSTABLE, IMPOSSIBLE, or the status of the timed calls
	Status   op.Status `json:"status"`
	Message  string    `json:"message"`
	N        int       `json:"n"`
	MedianNS float64   `json:"median_ns"`
	LowNS    float64   `json:"low_ns"` // 95 % interval of the median
	HighNS   float64   `json:"high_ns"`
	MinNS    float64   `json:"min_ns"`
	P10NS    float64   `json:"p10_ns"`
	P90NS    float64   `json:"p90_ns"`
	Bytes    int64     `json:"bytes"` // moved and computed at least, by the operator's definition
	FLOPs    int64     `json:"flops"`
	// share of what the ceilings of the session allow; null if none applies
	Roofline *Float `json:"roofline"`
	// median clock of the multiprocessors while it ran; null if it could not be read
	ClockMHz *Float `json:"clock_mhz"`

	SamplesNS []float64 `json:"samples_ns"` // all of them, in the order in which they were taken
	Rounds    []int     `json:"rounds"`     // the round of each sample
	Positions []int     `json:"positions"`  // its place among the implementations of that round
	ClocksMHz []float64 `json:"clocks_mhz"` // 0 if it could not be read
	Discarded int       `json:"n_discarded"`
	Because   string    `json:"discarded_because"`

	PowerW       *Float `json:"power_w"` // median
	TemperatureC *Float `json:"temperature_c"`
	Throttle     uint64 `json:"throttle_mask"` // NVML's clock event reasons, all that were seen

	Mode         string `json:"mode"`          // "graph", or "events", of which the message says more
	Sets         int    `json:"sets"`          // of inputs and outputs that were rotated over
	Calls        int    `json:"calls"`         // in one replay of the graph
	RotatedBytes int64  `json:"rotated_bytes"` // the smaller of all inputs' and all outputs' bytes

	Backward string `json:"backward"` // what a backward starts from: a constant below; "" for a forward

	Kernels []Launch `json:"kernels"` // that one call launches; empty if the worker does not know
}

// What a timed backward starts from. A backward alone starts from one of the first two.
const (
	SavedTensors = "saved tensors" // its function takes what a forward saved
	// torch's autograd goes back through the graph of a forward that ran before
	RetainedGraph = "retained graph"
	// nothing: its forward runs within the call, and only the pair can be timed
	ForwardBackward = "forward+backward"
)

// Launch is a kernel as it was launched in the timed calls.
type Launch struct {
	Kernel             string `json:"kernel"` // mangled
	Grid               [3]int `json:"grid"`
	Block              [3]int `json:"block"`
	Registers          int    `json:"registers"` // of a thread
	SharedBytes        int    `json:"shared_bytes"`
	DynamicSharedBytes int    `json:"dynamic_shared_bytes"`
	// of a thread: spills, and arrays that are no registers
	LocalBytes              int `json:"local_bytes"`
	BlocksPerMultiprocessor int `json:"blocks_per_multiprocessor"`
	// threads that a multiprocessor holds at once, as a share of the most that it can
	Occupancy float64 `json:"occupancy"`
}

// Ceiling is a peak rate of the device, measured in a session.
type Ceiling struct {
	Session string `json:"session"`
	// "copy", "read", "write", "bf16", "fp8", "fp32"; with " sustained" after seconds of the same
	Name           string    `json:"name"`
	BytesPerSecond *Float    `json:"bytes_per_second"`
	FLOPsPerSecond *Float    `json:"flops_per_second"`
	SamplesNS      []float64 `json:"samples_ns"`
}

// Comparison is the ratio of two records that were timed in the same rounds: above 1 A takes longer. If RunA
// and RunB are equal, the implementation was timed twice, and the ratio shows the noise.
type Comparison struct {
	A      string    `json:"a"`
	B      string    `json:"b"`
	RunA   string    `json:"run_a"`
	RunB   string    `json:"run_b"`
	Regime string    `json:"regime"`
	Ratios []float64 `json:"ratios"` // one a round
	Ratio  float64   `json:"ratio"`
	// 99 % interval of the median, free of assumptions; of fewer than 8 rounds the smallest and largest ratio
	Low          float64 `json:"ratio_low"`
	High         float64 `json:"ratio_high"`
	SpeedVerdict string  `json:"word"` // FASTER, SLOWER, SAME, AMBIGUOUS: of A
}
