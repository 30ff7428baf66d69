package judgeloop

import (
	"fmt"
	"hash/maphash"
	"slices"
	"sync"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// Remembered is a truth that is computed once for the same inputs: every candidate meets the same cases.
type Remembered struct {
	truth.Reference

	mu    sync.Mutex
	seed  maphash.Seed
	known map[string][]truth.Computed
	bytes int64
}

var _ truth.Reference = (*Remembered)(nil)

// Remember returns a reference that computes what it does not remember.
func Remember(r truth.Reference) *Remembered {
	return &Remembered{Reference: r, seed: maphash.MakeSeed(), known: map[string][]truth.Computed{}}
}

// mostRemembered limits the bytes of the truths of a problem that are kept.
const mostRemembered = 512 << 20

// Compute returns the truth of a case.
func (r *Remembered) Compute(c op.Case, contract string, in []tensor.Tensor) ([]truth.Computed, error) {
	key := fmt.Sprint(c.Key(), " ", contract)
	for _, t := range in {
		key += fmt.Sprint(" ", t.Name, t.DType, t.Shape, t.Stride, t.Offset, maphash.Bytes(r.seed, t.Data))
	}
	r.mu.Lock()
	known, is := r.known[key]
	r.mu.Unlock()
	if is {
		return copyOf(known), nil
	}
	computed, err := r.Reference.Compute(c, contract, in)
	if err != nil {
		return nil, err
	}
	size := int64(0)
	for _, o := range computed {
		size += 8 * int64(len(o.R)+len(o.T)+len(o.Simulated))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bytes+size <= mostRemembered {
		r.known[key], r.bytes = copyOf(computed), r.bytes+size
	}
	return computed, nil
}

// copyOf copies a truth, since whoever gets one may change it.
func copyOf(all []truth.Computed) []truth.Computed {
	copied := make([]truth.Computed, len(all))
	for i, c := range all {
		copied[i] = truth.Computed{
			R: slices.Clone(c.R), T: slices.Clone(c.T), Simulated: slices.Clone(c.Simulated),
		}
	}
	return copied
}
