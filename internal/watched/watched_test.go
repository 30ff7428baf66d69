package watched

import (
	"slices"
	"testing"
)

// The largest cases that are small enough are watched; if every case is too large, the smallest one is.
func TestLargestSmallCases(t *testing.T) {
	for want, sizes := range map[int64][]int64{
		MostElements:     {7, MostElements + 1, MostElements},
		MostElements + 2: {MostElements + 5, MostElements + 2, MostElements + 9},
	} {
		var list []sizedCase
		for _, n := range sizes {
			list = append(list, sizedCase{elements: n})
		}
		if got := largestSmall(list); got[0].elements != want || slices.Max(sizes) == got[0].elements {
			t.Errorf("of cases with %v elements %v are watched, want first %d", sizes, got, want)
		}
	}
}
