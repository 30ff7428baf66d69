package tensor

import "sync"

// lent is where returned working memory waits: a tensor of millions of values is made in it, looked at once and thrown away, and fresh memory costs
// more than the work, since the system has to clear it page by page.
var lent sync.Pool

// leastLent is how many values are worth keeping.
const leastLent = 1 << 18

// Lend gives working memory for n values, whatever it holds. Who is done with it may give it back.
func Lend(n int) []float64 {
	if n < leastLent {
		return make([]float64, n)
	}
	if old, ok := lent.Get().(*[]float64); ok && cap(*old) >= n {
		return (*old)[:n]
	}
	return make([]float64, n)
}

// GiveBack takes working memory that nobody looks at any more.
func GiveBack(x []float64) {
	if cap(x) >= leastLent {
		lent.Put(&x)
	}
}
