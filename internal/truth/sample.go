package truth

import (
	"slices"
)

// Columns returns a sample of columns to go with one of rows, drawn from another seed.
func (s *Sample) Columns() *Sample {
	if s == nil {
		return nil
	}
	return &Sample{Rows: s.Rows, Seed: ^s.Seed}
}

// Rest lists the numbers below n that are not chosen, in increasing order.
func Rest(chosen []int64, n int64) []int64 {
	left := make([]int64, 0, n-int64(len(chosen)))
	for i := range n {
		if len(chosen) > 0 && chosen[0] == i {
			chosen = chosen[1:]
			continue
		}
		left = append(left, i)
	}
	return left
}

// Union joins two lists in increasing order.
func Union(a, b []int64) []int64 {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// Sample selects some rows of every output instead of all (an output seen as [rows, last dim]): the first,
// the last TailRows and Rows more, drawn from Seed. Large cases are judged this way.
type Sample struct {
	Rows int64
	Seed uint64
}

// TailRows are the rows at the end of an output that a sample always holds: a whole tile, where ragged sizes
// go wrong.
const TailRows = 64

// Choose returns the chosen rows of n, in increasing order; nil for all of them.
func (s *Sample) Choose(n int64) []int64 {
	if s == nil || n <= TailRows+s.Rows+1 {
		return nil
	}
	chosen := map[int64]bool{0: true}
	for i := n - TailRows; i < n; i++ {
		chosen[i] = true
	}
	for i := range uint64(s.Rows) {
		z := s.Seed + (i+1)*0x9E3779B97F4A7C15 // splitmix64 (Steele, Lea, Flood 2014)
		z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
		z = (z ^ z>>27) * 0x94D049BB133111EB
		chosen[int64((z^z>>31)%uint64(n))] = true
	}
	rows := make([]int64, 0, len(chosen))
	for r := range chosen {
		rows = append(rows, r)
	}
	slices.Sort(rows)
	return rows
}

// Within is Choose for heads of seq rows each, with the number of heads limited by most: the last, and others
// by the seed.
func (s *Sample) Within(heads, seq, most int64) []int64 {
	first := int64(s.Seed % uint64(heads))
	chosen := []int64{heads - 1}
	for i := range most - 1 {
		chosen = Union(chosen, []int64{(first + i) % heads})
	}
	among := s.Choose(int64(len(chosen)) * seq)
	if among == nil {
		among = Rest(nil, int64(len(chosen))*seq)
	}
	for i, r := range among {
		among[i] = chosen[r/seq]*seq + r%seq
	}
	return among
}

// Last is Choose among the last rows of n, so many.
func (s *Sample) Last(n, among int64) []int64 {
	chosen := s.Choose(among)
	if chosen == nil {
		chosen = Rest(nil, among)
	}
	for i := range chosen {
		chosen[i] += n - among
	}
	return chosen
}

// Below returns the numbers of an increasing list that lie below a limit.
func Below(rising []int64, limit int64) []int64 {
	n, _ := slices.BinarySearch(rising, limit)
	return rising[:n]
}
