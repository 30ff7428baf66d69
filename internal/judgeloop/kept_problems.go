package judgeloop

import (
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// Room is the memory for what all problems remember.
type Room struct{ left atomic.Int64 }

// RoomOf returns room for a number of bytes.
func RoomOf(bytes int64) *Room {
	r := &Room{}
	r.left.Store(bytes)
	return r
}

// take takes room where it is there.
func (r *Room) take(bytes int64) bool {
	if r.left.Add(-bytes) >= 0 {
		return true
	}
	r.left.Add(bytes)
	return false
}

// Remembered is a reference that computes the truth, and draws the inputs, of a case once: every candidate
// meets the same cases.
type Remembered struct {
	truth.Reference
	room *Room

	mu    sync.Mutex
	seed  maphash.Seed
	known map[string]*entry
	bytes int64
}

// entry is something that is there, or that one caller computes while others wait.
type entry struct {
	ready chan struct{} // closed when it is done
	value any           // nil: there was no room for it
}

var (
	_ truth.Reference = (*Remembered)(nil)
	_ truth.Drawer    = (*Remembered)(nil)
)

// Remember returns a reference that computes what it does not remember.
func Remember(r truth.Reference, room *Room) *Remembered {
	return &Remembered{Reference: r, room: room, seed: maphash.MakeSeed(), known: map[string]*entry{}}
}

// Forget gives the room back.
func (r *Remembered) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.room.left.Add(r.bytes)
	r.known, r.bytes = map[string]*entry{}, 0
}

// Compute returns the truth of a case.
func (r *Remembered) Compute(c op.Case, contract string, in []tensor.Tensor) ([]truth.Computed, error) {
	key := fmt.Sprint(c.Key(), " ", contract)
	for _, t := range in {
		key += fmt.Sprint(" ", t.Name, t.DType, t.Shape, t.Stride, t.Offset, maphash.Bytes(r.seed, t.Data))
	}
	return once(r, key, copyOf, sizeOf, func() ([]truth.Computed, error) {
		return r.Reference.Compute(c, contract, in)
	})
}

// Draw returns the inputs of a case that the problem draws itself.
func (r *Remembered) Draw(c op.Case, seed uint64) (map[string]tensor.Tensor, error) {
	drawer, is := r.Reference.(truth.Drawer)
	if !is {
		return nil, fmt.Errorf("the problem of %s draws no inputs", c.Op)
	}
	key := fmt.Sprint("drawn ", c.Key(), " ", seed)
	return once(r, key, copyOfDrawn, sizeOfDrawn, func() (map[string]tensor.Tensor, error) {
		return drawer.Draw(c, seed)
	})
}

// once returns what is remembered under a key, as a copy, since whoever gets it may change it. Otherwise it
// computes it, and remembers it if there is room. Who asks meanwhile waits.
func once[T any](r *Remembered, key string, clone func(T) T, size func(T) int64,
	compute func() (T, error),
) (T, error) {
	r.mu.Lock()
	e, is := r.known[key]
	if !is {
		e = &entry{ready: make(chan struct{})}
		r.known[key] = e
	}
	r.mu.Unlock()
	if is {
		<-e.ready
		if value, is := e.value.(T); is {
			return clone(value), nil
		}
		return compute()
	}
	defer close(e.ready)
	value, err := compute()
	if err != nil {
		r.mu.Lock()
		delete(r.known, key) // the next one tries again
		r.mu.Unlock()
		return value, err
	}
	if bytes := size(value); r.room.take(bytes) {
		e.value = clone(value)
		r.mu.Lock()
		r.bytes += bytes
		r.mu.Unlock()
	}
	return value, nil
}

func copyOf(all []truth.Computed) []truth.Computed {
	copied := make([]truth.Computed, len(all))
	for i, c := range all {
		copied[i] = truth.Computed{
			R: slices.Clone(c.R), T: slices.Clone(c.T), Simulated: slices.Clone(c.Simulated),
		}
	}
	return copied
}

func sizeOf(all []truth.Computed) (bytes int64) {
	for _, c := range all {
		bytes += 8 * int64(len(c.R)+len(c.T)+len(c.Simulated))
	}
	return bytes
}

func copyOfDrawn(all map[string]tensor.Tensor) map[string]tensor.Tensor {
	copied := make(map[string]tensor.Tensor, len(all))
	for name, t := range all {
		t.Data = slices.Clone(t.Data)
		copied[name] = t
	}
	return copied
}

func sizeOfDrawn(all map[string]tensor.Tensor) (bytes int64) {
	for _, t := range all {
		bytes += int64(len(t.Data))
	}
	return bytes
}
