package judge

import (
	"bytes"
	"math"
	"slices"

	"triad/internal/op"
	"triad/internal/tensor"
)

// bits compares what the launches of one call left in one output: which elements were never written, and
// which differ between launches.
type bits struct {
	unwritten      int64
	firstUnwritten int64
	differing      int64
	firstDiffering int64
	otherLaunch    int // the launch that first differs from launch 0
	// followsPoison: launches with the same poison agree on every element that differs, and both poisons had
	// at least two launches. The element depends on what its memory held before the launch.
	followsPoison bool
	// ordinaryAlone: for every element that differs, only the launch under ordinary numbers has another value
	// than all others.
	ordinaryAlone bool
	otherNaN      int64 // elements that are NaN in every launch, with other payloads
}

// compareBits compares every element of one output in all launches. An element that shows its launch's poison
// under both poisons was not written (one match alone may be a value of a narrow dtype). Any other element
// whose value is not that of the first launch differs. Two NaNs are one value: operations on a NaN may or may
// not propagate its payload.
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
	counts := map[string]int{}
	for l, poison := range poisons {
		patterns[l] = make([]byte, size)
		tensor.Poison(patterns[l], d, poison)
		counts[poison]++
	}
	follows, alone := counts["a"] > 1 && counts["b"] > 1, true
	for i := range n {
		e := elementOf(d, poisons, patterns, data, i*size)
		switch {
		case e.shownA && e.shownB:
			if found.unwritten++; found.firstUnwritten < 0 {
				found.firstUnwritten = i
			}
		case e.differs >= 0:
			if found.differing++; found.firstDiffering < 0 {
				found.firstDiffering, found.otherLaunch = i, e.differs
			}
			follows, alone = follows && e.follows, alone && e.ordinaryAlone
		case e.otherNaN:
			found.otherNaN++
		}
	}
	found.followsPoison, found.ordinaryAlone = follows && found.differing > 0, alone && found.differing > 0
	return found
}

// launched holds the bits that each launch left in one element.
type launched struct {
	differs        int  // the first launch with another value than launch 0; -1: none
	follows        bool // the value is the same wherever the poison is
	ordinaryAlone  bool // only the launch under ordinary numbers has another value than the rest
	otherNaN       bool // all are NaN, with other bits
	shownA, shownB bool // a launch shows its poison, a or b
}

func elementOf(d op.DType, poisons []string, patterns, data [][]byte, at int64) launched {
	e := launched{differs: -1, follows: true, ordinaryAlone: true}
	size := d.Size()
	first := data[0][at : at+size]
	if !slices.ContainsFunc(data[1:], func(b []byte) bool { return !bytes.Equal(b[at:at+size], first) }) {
		return e // the two poisons are not the same
	}
	under := map[string][]byte{}
	for l, b := range data {
		v := b[at : at+size]
		if !bytes.Equal(v, first) {
			if isNaN(d, first) && isNaN(d, v) {
				e.otherNaN = true
			} else {
				if e.differs < 0 {
					e.differs = l
				}
				e.ordinaryAlone = e.ordinaryAlone && poisons[l] == tensor.Ordinary
			}
		}
		if before := under[poisons[l]]; before == nil {
			under[poisons[l]] = v
		} else {
			e.follows = e.follows && bytes.Equal(before, v)
		}
		if bytes.Equal(v, patterns[l]) {
			e.shownA, e.shownB = e.shownA || poisons[l] == "a", e.shownB || poisons[l] == "b"
		}
	}
	return e
}

func isNaN(d op.DType, element []byte) bool {
	return d.IsFloat() && math.IsNaN(tensor.Decode(d, element)[0])
}
