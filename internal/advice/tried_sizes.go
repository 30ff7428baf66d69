package advice

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Tried is a size with its tested values, the other sizes being unchanged.
type Tried struct {
	Size         string
	Right, Wrong []int64 // ascending
}

// String returns "cols = 32, 64 are right, 65, 128 are wrong".
func (t Tried) String() string {
	right, wrong := t.listed()
	return fmt.Sprintf("%s = %s %s right, %s %s wrong", t.Size, numbers(right), areOf(right), numbers(wrong),
		areOf(wrong))
}

// inBrackets returns " (right: 256, 512; wrong: 255)", or "" if nothing is listed.
func (t Tried) inBrackets() string {
	right, wrong := t.listed()
	if len(right) == 0 || len(wrong) == 0 {
		return ""
	}
	return fmt.Sprintf(" (right: %s; wrong: %s)", numbers(right), numbers(wrong))
}

// listed returns the values that a sentence lists: of the right ones the last two below the first wrong one
// and the first three above it, of the wrong ones the first two and the last three.
func (t Tried) listed() (right, wrong []int64) {
	below := len(t.Right)
	if len(t.Wrong) > 0 {
		below, _ = slices.BinarySearch(t.Right, t.Wrong[0])
	}
	right = t.Right[max(0, below-2):min(len(t.Right), below+3)]
	wrong = t.Wrong
	if n := len(wrong); n > 5 {
		wrong = slices.Concat(wrong[:2], wrong[n-3:])
	}
	return right, wrong
}

func numbers(all []int64) string {
	var words []string
	for _, n := range all {
		words = append(words, strconv.FormatInt(n, 10))
	}
	return strings.Join(words, ", ")
}

func areOf(all []int64) string {
	if len(all) == 1 {
		return "is"
	}
	return "are"
}
