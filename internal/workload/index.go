package workload

import (
	"fmt"
	"slices"

	"triad/internal/op"
)

// offsets draws where consecutive groups of n elements begin, and their end: integers that rise from 0 to n.
// The distribution selects how uneven the groups are: all of one size under constant and ties, all elements
// in one group under outlier, each half as large as the one before under scaled, most groups empty under
// sparse; else random, one in eight empty.
func (d *drawing) offsets(distribution string, n int64) ([]float64, error) {
	groups := d.elements - 1
	if groups < 0 || groups == 0 && n != 0 {
		return nil, fmt.Errorf(
			"draw: %d offsets cannot cut %d elements: want at least one group",
			groups+1,
			n,
		)
	}
	x := zeroed(d.elements)
	s := d.random("offsets")
	fresh := int64(7) // so many of 8 cuts are drawn; the others repeat the one before
	switch distribution {
	case "constant", "ties":
		for i := range x {
			x[i] = float64(int64(i) * n / max(groups, 1))
		}
		return x, nil
	case "outlier":
		full := s.integer(0, 0, float64(max(groups-1, 0)))
		for i := range x {
			if float64(i) > full {
				x[i] = float64(n)
			}
		}
		return x, nil
	case "scaled":
		for i := range x[1:] {
			x[i+1] = float64(n - n>>min(i+1, 62))
		}
		x[len(x)-1] = float64(n)
		return x, nil
	case "sparse":
		fresh = 1
	}
	kinds, cuts := d.random("kind"), []float64{}
	isFresh := func(i int64) bool { return kinds.below(uint64(i), 8) < fresh }
	for i := int64(1); i < groups; i++ {
		if isFresh(i) {
			cuts = append(cuts, s.integer(uint64(i), 0, float64(n)))
		}
	}
	slices.Sort(cuts)
	for i := int64(1); i < groups; i++ {
		x[i] = x[i-1]
		if isFresh(i) {
			x[i], cuts = cuts[0], cuts[1:]
		}
	}
	x[len(x)-1] = float64(n)
	return x, nil
}

// lengths draws integers from least to n, both ends more often than others: all are least under zeros, all
// are n under constant, and under extremes each is an end. With `some` the first of several is least but
// under constant, and the last is n but under zeros: few lengths too have both ends.
func (d *drawing) lengths(distribution string, least, n float64, some bool) ([]float64, error) {
	if least > n {
		return nil, fmt.Errorf("draw: no length is at least %v and at most %v", least, n)
	}
	x := zeroed(d.elements)
	kinds, s := d.random("kind"), d.random("length")
	for i := range x {
		kind := kinds.below(uint64(i), 8)
		first, last := some && i == 0 && len(x) > 1, some && i == len(x)-1
		switch {
		case distribution == "zeros" || first && distribution != "constant":
			x[i] = least
		case distribution == "constant" || last:
			x[i] = n
		case distribution == "extremes" && kind < 4:
			x[i] = least
		case distribution == "extremes":
			x[i] = n
		case kind == 0:
			x[i] = least
		case kind == 1:
			x[i] = n
		default:
			x[i] = s.integer(uint64(i), least, n)
		}
	}
	return x, nil
}

// places draws different integers from 0 to n-1, as the blocks of a paged cache: any order of them, but not
// the rising one, in which a kernel that reads no table would be right.
func (d *drawing) places(n int64) ([]float64, error) {
	if n < d.elements {
		return nil, fmt.Errorf("draw: there are no %d different integers among %d", d.elements, n)
	}
	order, s := make([]float64, n), d.random("place")
	for i := range order { // Fisher and Yates, from the inside
		j := s.below(uint64(i), uint64(i)+1)
		order[i] = order[j]
		order[j] = float64(i)
	}
	x := order[:d.elements]
	if len(x) > 1 && slices.IsSorted(x) {
		slices.Reverse(x)
	}
	return x, nil
}

// classes draws integers from 0 to n-1, the first and the last more often than others. One in eight is the
// number that stands for none, and one at least of several; under zeros all are, under sparse all but one in
// sixteen, under op.NoneIgnored or if that number is op.IgnoringNothing none is. Under low_logits the first
// one is: a kernel that takes it for an index reads in front of the tensor. Under neg_inf_blocks the logit of
// a class is finite.
func (d *drawing) classes(distribution string, n int64, none float64) ([]float64, error) {
	if n < 1 {
		return nil, fmt.Errorf("draw: there is no class among %d", n)
	}
	x := zeroed(d.elements)
	kinds, s := d.random("kind"), d.random("class")
	ignoring := none != op.IgnoringNothing
	for i := range x {
		switch kind := kinds.below(uint64(i), 16); {
		case ignoring && (kind < 2 && distribution != op.NoneIgnored || distribution == "zeros" ||
			kind < 15 && distribution == "sparse" || i == 0 && distribution == "low_logits"):
			x[i] = none
		case kind < 4:
			x[i] = float64(n - 1)
		case kind < 5:
			x[i] = 0
		default:
			x[i] = s.integer(uint64(i), 0, float64(n-1))
		}
		if distribution == "neg_inf_blocks" && x[i] != none {
			for inNegInfBlock(int64(i), int64(x[i]), n) { // else one infinite loss would hide all others
				x[i] = float64((int64(x[i]) + 1) % n)
			}
		}
	}
	if ignoring && distribution != op.NoneIgnored && len(x) > 1 && !slices.Contains(x, none) {
		x[d.random("ignored").below(0, uint64(len(x)))] = none
	}
	return x, nil
}

// choices draws for each row, a token, different integers from 0 to n-1, its experts, and -1 for none: one in
// eight is none, and every one of a row in sixteen; at least one row has a single one. Under balanced and
// constant all integers come equally often and none is left out; under shifted the first come often and the
// last hardly ever; under outlier every row has one and the same; under sparse one row in sixteen has any,
// under zeros no row has.
func (d *drawing) choices(distribution string, n int64) ([]float64, error) {
	if n < d.cols {
		return nil, fmt.Errorf("draw: there are no %d different integers among %d", d.cols, n)
	}
	x := zeroed(d.elements)
	s, kinds, left := d.random("choice"), d.random("kind"), d.random("none")
	even := distribution == "balanced" || distribution == "constant"
	only, start := s.integer(uint64(d.elements), 0, float64(n-1)), d.start(uint64(n))
	single := d.start(uint64(max(d.rows, 1)))
	for i := range x {
		r, earlier := int64(i)/d.cols, x[int64(i)/d.cols*d.cols:i]
		kind := kinds.below(uint64(r), 16)
		if r == single {
			kind = 1
		}
		switch {
		case even:
			x[i] = float64((start + int64(i)) % n)
			continue
		case distribution == "outlier":
			if x[i] = only; len(earlier) > 0 {
				x[i] = -1
			}
			continue
		case distribution == "zeros", kind == 0 && distribution != "sparse",
			kind != 0 && distribution == "sparse", kind == 1 && len(earlier) > 0,
			kind > 1 && left.below(uint64(i), 8) == 0:
			x[i] = -1
			continue
		}
		x[i] = s.integer(uint64(i), 0, float64(n-1))
		if distribution == "shifted" { // the cube of a uniform number
			x[i] = float64(int64(x[i]) * int64(x[i]) / n * int64(x[i]) / n)
		}
		for slices.Contains(earlier, x[i]) {
			x[i] = float64((int64(x[i]) + 1) % n)
		}
	}
	return x, nil
}

// blocks draws for each row of [batch, tokens, heads, n] different blocks of size tokens among those that
// have begun at the row's token, in any order, and -1 past as many as there are. One row in sixteen has none.
// Of one in sixteen every second place is none, and blocks of the whole sequence are among them. Under zeros
// no row has any, under outlier each has its token's own block alone.
func (d *drawing) blocks(distribution string, shape []int64, size int64) ([]float64, error) {
	if len(shape) != 4 || size < 1 {
		return nil, fmt.Errorf("draw: blocks of %d tokens for a tensor of shape %v", size, shape)
	}
	x := zeroed(d.elements)
	s, kinds := d.random("block"), d.random("kind")
	tokens, heads, n := shape[1], shape[2], shape[3]
	for i := range x {
		r, place := int64(i)/n, int64(i)%n
		token := r / heads % tokens
		own, kind := token/size, kinds.below(uint64(r), 16)
		last, taken := own, place
		if kind == 1 {
			last, taken = (tokens-1)/size, place/2
		}
		earlier := x[r*n : int64(i)]
		switch {
		case distribution == "zeros", kind == 0, kind == 1 && place%2 == 0, taken > last:
			x[i] = -1
			continue
		case distribution == "outlier":
			if x[i] = float64(own); slices.Contains(earlier, x[i]) {
				x[i] = -1
			}
			continue
		}
		x[i] = s.integer(uint64(i), 0, float64(last))
		for slices.Contains(earlier, x[i]) {
			x[i] = float64((int64(x[i]) + 1) % (last + 1))
		}
	}
	return x, nil
}
