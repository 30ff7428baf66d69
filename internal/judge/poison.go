package judge

import (
	"bytes"

	"triad/internal/op"
	"triad/internal/tensor"
)

// bits is what the launches of one call left in one output: which elements were never written, and which
// differ between launches.
type bits struct {
	unwritten      int64
	firstUnwritten int64
	differing      int64
	firstDiffering int64
	otherLaunch    int // the launch that first differs from launch 0
}

// compareBits looks at every element of one output in all launches. An element that shows its launch's poison
// under both poisons was not written (one match alone may be a value of a narrow dtype); any other element
// whose bits are not those of the first launch differs.
func compareBits(d op.DType, n int64, poisons []string, data [][]byte) bits {
	found := bits{firstUnwritten: -1, firstDiffering: -1}
	same := true
	for _, b := range data[1:] {
		same = same && tensor.Equal(b, data[0])
	}
	if same {
		return found // an element that was not written shows different poisons
	}
	size := d.Size()
	patterns := make([][]byte, len(data))
	for l, poison := range poisons {
		patterns[l] = make([]byte, size)
		tensor.Poison(patterns[l], d, poison)
	}
	for i := range n {
		first, differs, shownA, shownB := data[0][i*size:(i+1)*size], -1, false, false
		for l, b := range data {
			v := b[i*size : (i+1)*size]
			if differs < 0 && !bytes.Equal(v, first) {
				differs = l
			}
			if bytes.Equal(v, patterns[l]) {
				shownA, shownB = shownA || poisons[l] == "a", shownB || poisons[l] == "b"
			}
		}
		switch {
		case shownA && shownB:
			if found.unwritten++; found.firstUnwritten < 0 {
				found.firstUnwritten = i
			}
		case differs >= 0:
			if found.differing++; found.firstDiffering < 0 {
				found.firstDiffering, found.otherLaunch = i, differs
			}
		}
	}
	return found
}
