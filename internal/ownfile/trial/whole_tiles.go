package trial

import "triad/internal/op"

// wholeTiles returns sizes, near those of the smallest case that tells interpretations apart, that are
// multiples of the usual tiles and blocks. Sizes are equal here exactly where they are equal there.
func wholeTiles(spec *op.Spec, o op.Options) map[string]int64 {
	dims := smallestTelling(spec, o)
	var free []string
	for _, d := range spec.Dims {
		if _, fixed := o.Dims[d.Name]; !fixed && dims[d.Name] > 0 {
			free = append(free, d.Name)
		}
	}
	whole, least := map[string]int64{}, int64(0)
	for name, n := range dims {
		whole[name] = n
	}
	became, taken := map[int64]int64{}, map[int64]bool{}
	for i, name := range free {
		step := int64(128)
		switch {
		case len(free) == 1:
			step = 4096
		case len(free) == 2 && i == 1:
			step = 1024
		case len(free) > 3:
			step, least = 128, 8 // counts, such as that of heads, stay as they are
		}
		n := dims[name]
		if n <= least {
			continue
		}
		if became[n] == 0 {
			rounded := (n + step - 1) / step * step
			for taken[rounded] {
				rounded += step
			}
			became[n], taken[rounded] = rounded, true
		}
		whole[name] = became[n]
	}
	return whole
}
