package tensor

import (
	"slices"
	"sync"
)

// kept is a pool of returned working memory. A tensor of millions of values is decoded, read once and
// dropped; fresh memory would cost more than that work, since the system clears it page by page. The pool
// keeps at most mostKept values.
var kept struct {
	sync.Mutex
	memory [][]float64
	values int
}

const (
	leastLent = 1 << 18 // fewer values are not worth it
	mostKept  = 1 << 28 // two tensors of 2^27 elements: 2 GB
)

// Lend returns working memory for n values with arbitrary contents. It may be returned with GiveBack.
func Lend(n int) []float64 {
	if n < leastLent {
		return make([]float64, n)
	}
	kept.Lock()
	at := -1
	for i, m := range kept.memory {
		if len(m) >= n && len(m)/4 <= n && (at < 0 || len(m) < len(kept.memory[at])) {
			at = i
		}
	}
	if at < 0 {
		kept.Unlock()
		return make([]float64, n)
	}
	m := kept.memory[at]
	kept.memory = slices.Delete(kept.memory, at, at+1)
	kept.values -= len(m)
	kept.Unlock()
	return m[:n]
}

// GiveBack takes back working memory that is no longer used.
func GiveBack(x []float64) {
	x = x[:cap(x)]
	kept.Lock()
	defer kept.Unlock()
	if len(x) < leastLent || len(x) > mostKept {
		return
	}
	for kept.values+len(x) > mostKept { // the oldest have found no use for longest
		kept.values -= len(kept.memory[0])
		kept.memory = slices.Delete(kept.memory, 0, 1)
	}
	kept.memory = append(kept.memory, x)
	kept.values += len(x)
}
