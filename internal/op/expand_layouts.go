package op

import "slices"

// upstreamLayouts lists the memory layouts of upstream gradients, each on one shape, with saved tensors of
// each kind in turn, under --full of both. Under --quick a dtype gets one of them, on a shape of that level
// where one is marked.
func (p *planner) upstreamLayouts(marked []site, dtypeIndex int) (list []draft) {
	layouts, full := p.spec.UpstreamLayouts(), p.options.Level == LevelFull
	if p.options.Level == LevelQuick {
		small := slices.DeleteFunc(slices.Clone(marked), func(x site) bool { return !x.quick })
		if len(small) > 0 {
			marked = small
		}
		if n := len(layouts); n > 0 {
			layouts = layouts[dtypeIndex%n:][:1]
		}
	}
	at := tallest(marked, p.spec.Dims[0].Name)
	for _, name := range layouts {
		list = append(list, draft{at: at, distribution: "normal", upstream: name, both: full})
	}
	return list
}

// quickLayouts returns the layouts of a dtype under --quick: an odd place, and one kind of strides in turn.
// The first dtype, often the only one that a file mentions, also meets sliced vectors, and in a forward one
// input alone at an odd place.
func quickLayouts(pass Pass, layouts []string, dtypeIndex int) []string {
	var list, strides []string
	for _, name := range layouts {
		switch {
		case name == "offset", name == "offset_one" && dtypeIndex == 0 && pass == Forward:
			list = append(list, name)
		case name == "sliced" && dtypeIndex == 0 && !slices.Contains(layouts, "padded"):
			list = append(list, name)
		case name != "offset_one" && name != "sliced":
			strides = append(strides, name)
		}
	}
	if len(strides) == 0 { // vectors
		strides = slices.DeleteFunc([]string{"sliced"}, func(name string) bool {
			return !slices.Contains(layouts, name) || slices.Contains(list, name)
		})
	}
	if len(strides) > 0 {
		list = append(list, strides[dtypeIndex%len(strides)])
	}
	return list
}
