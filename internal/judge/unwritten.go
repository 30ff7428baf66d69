package judge

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"triad/internal/tensor"
)

// Unwritten describes the place of the elements that no launch wrote, in a sentence: in one row, from a
// column on, at the end of the memory. poisons holds the poison of each launch, data its output. It returns
// "" if all were written or they form no pattern.
func Unwritten(t Target, poisons []string, data [][]byte) string {
	n, size := t.Elements(), t.DType.Size()
	a, b := slices.Index(poisons, "a"), slices.Index(poisons, "b")
	if n == 0 || a < 0 || b < 0 ||
		slices.ContainsFunc(data, func(d []byte) bool { return int64(len(d)) != n*size }) {
		return ""
	}
	shown := func(l int, i int64) bool {
		return bytes.Equal(data[l][i*size:(i+1)*size], tensor.PoisonPattern(t.DType, poisons[l]))
	}
	f := finding{Target: t, wrong: make([]bool, n)}
	f.Index = nil     // bytes show where they were not written, truth or not
	f.Words = Words{} // these are of values
	first := n
	for i := range n {
		if shown(a, i) && shown(b, i) {
			f.wrong[i] = true
			f.count++
			first = min(first, i)
		}
	}
	if f.count == 0 {
		return ""
	}
	if s := f.where(); s != "" {
		return strings.Replace(s, "wrong", "unwritten", 1)
	}
	if int64(f.count) == n-first {
		return fmt.Sprintf("exactly the last %d elements in memory are unwritten%s", f.count,
			f.boundary(first, n))
	}
	return ""
}
