// Package ladder ranks a kernel among triad's own variants of its operator. It compares the emulator's counts
// with those of the variants, and adds the published times of these. It is pure: counts go in, sentences come
// out.
package ladder

import (
	_ "embed"
	"encoding/json"
	"math"
	"sync"
)

// Traffic holds what the kernels of one call do, as the emulator counts it. A request is one instruction of a
// warp.
type Traffic struct {
	ReadBytes    int64 `json:"read_bytes"` // of device memory, by all lanes
	WriteBytes   int64 `json:"write_bytes"`
	Atomics      int64 `json:"atomics"` // requests
	Requests     int64 `json:"requests"`
	Lanes        int64 `json:"lanes"` // of all requests
	Sectors      int64 `json:"sectors"`
	LeastSectors int64 `json:"least_sectors"`

	Wavefronts      int64 `json:"wavefronts"` // of shared memory
	LeastWavefronts int64 `json:"least_wavefronts"`

	Runs        int64 `json:"runs"`      // of stretches of code without a branch, by warps
	PartRuns    int64 `json:"part_runs"` // of those, with a part of the warp
	Launches    int64 `json:"launches"`
	SharedBytes int64 `json:"shared_bytes"` // of the block with most
}

// Variant is one kernel of a ladder with its counts on the case of its ladder, and its published time.
type Variant struct {
	Impl     string  `json:"impl"`
	What     string  `json:"what,omitempty"` // it does, as the head of its file says
	Traffic  Traffic `json:"traffic"`
	MedianNS float64 `json:"median_ns,omitempty"` // 0: not published
}

// Other is an implementation that is not triad's own CUDA, with its published time.
type Other struct {
	Impl     string  `json:"impl"`
	MedianNS float64 `json:"median_ns"`
}

// Ladder holds the variants and the published times of one pass of an operator.
type Ladder struct {
	DType       string            `json:"dtype"` // of the counted case
	Dims        map[string]int64  `json:"dims"`
	Attributes  map[string]string `json:"attributes,omitempty"`
	InputBytes  int64             `json:"input_bytes"`
	OutputBytes int64             `json:"output_bytes"`
	Input       string            `json:"input,omitempty"` // the name of the only input, if there is but one
	Variants    []Variant         `json:"rungs"`
	// Sources is the hash of the operator's kernel files that were counted.
	Sources string `json:"sources"`

	GPU        string  `json:"gpu,omitempty"` // of the published times
	BenchDType string  `json:"bench_dtype,omitempty"`
	BenchSizes string  `json:"bench_sizes,omitempty"` // 8192 x 8192
	Others     []Other `json:"others,omitempty"`
}

//go:embed ladders.json
var text []byte

// Ladders maps "softmax forward" to its ladder.
type Ladders map[string]Ladder

var published = sync.OnceValue(func() Ladders {
	var all Ladders
	if err := json.Unmarshal(text, &all); err != nil {
		panic(err) // of an embedded file
	}
	return all
})

// Of returns the ladder of a pass of an operator; false if it was not counted.
func Of(op, pass string) (Ladder, bool) {
	l, ok := published()[op+" "+pass]
	return l, ok && len(l.Variants) > 0
}

// Whole reports whether the counts hold all that a kernel reads. Copies that run beside it are not counted,
// so that it seems to read less than there is.
func (l Ladder) Whole(t Traffic) bool { return t.Requests > 0 && 10*t.ReadBytes >= 9*l.InputBytes }

// measures are the numbers by which kernels are compared: each is 1 or less at best, but width.
type measures struct {
	reads, writes float64 // how often each byte of the tensors is moved
	sectors       float64 // touched, for each that the bytes need
	wavefronts    float64 // of shared memory, for each that is needed
	parts         float64 // share of runs with a part of the warp
	width         float64 // bytes of a lane's access
}

func (l Ladder) measuresOf(t Traffic) measures {
	return measures{
		reads:      ratio(t.ReadBytes, l.InputBytes, 0),
		writes:     ratio(t.WriteBytes, l.OutputBytes, 0),
		sectors:    ratio(t.Sectors, t.LeastSectors, 1),
		wavefronts: ratio(t.Wavefronts, t.LeastWavefronts, 1),
		parts:      ratio(t.PartRuns, t.Runs, 0),
		width:      ratio(t.ReadBytes+t.WriteBytes, t.Lanes, 0),
	}
}

// ratio returns n / of, or otherwise where there is nothing to divide by.
func ratio(n, of int64, otherwise float64) float64 {
	if of <= 0 {
		return otherwise
	}
	return float64(n) / float64(of)
}

// apart returns how unlike two kernels are: the sum of the differences of their measures on a logarithmic
// scale.
func (m measures) apart(o measures) float64 {
	log := func(a, b float64) float64 { return math.Abs(math.Log((a + 0.1) / (b + 0.1))) }
	return log(m.reads, o.reads) + log(m.writes, o.writes) + log(m.sectors, o.sectors) +
		log(m.wavefronts, o.wavefronts) + log(m.width, o.width) + math.Abs(m.parts-o.parts)
}

// Nearest returns the variant that a kernel is most like by its counts.
func (l Ladder) Nearest(t Traffic) Variant {
	mine := l.measuresOf(t)
	nearest, least := Variant{}, math.Inf(1)
	for _, r := range l.Variants {
		if d := mine.apart(l.measuresOf(r.Traffic)); d < least {
			nearest, least = r, d
		}
	}
	return nearest
}

// Next returns the variant to climb to: of those with a published time the slowest that is faster than the
// given one; if the given one has no time, the slowest that is better by a measure. false: there is none.
func (l Ladder) Next(t Traffic, from Variant) (Variant, bool) {
	next, found := Variant{}, false
	for _, r := range l.Variants {
		faster := r.MedianNS > 0 && r.Impl != from.Impl && (from.MedianNS == 0 || r.MedianNS < from.MedianNS)
		if faster && len(l.better(r.Traffic, t)) > 0 && (!found || r.MedianNS > next.MedianNS) {
			next, found = r, true
		}
	}
	return next, found
}
