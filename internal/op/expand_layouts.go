package op

import "slices"

// upstreamLayouts lists the ways in which upstream gradients lie in memory, each on one shape, behind saved
// tensors of each kind in turn, with --full of both. With --quick a dtype meets one of them, on a shape of
// that level where one is marked.
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

// quickLayouts are the layouts that a dtype meets with --quick: one, in turn. The first dtype, which most files
// speak of alone, meets every layout that moves where an element lies.
func quickLayouts(layouts []string, dtypeIndex int) []string {
	turn := layouts[dtypeIndex%len(layouts):][:1]
	if dtypeIndex > 0 {
		return turn
	}
	for _, name := range []string{"offset_one", "sliced"} {
		if slices.Contains(layouts, name) && (name != "sliced" || !slices.Contains(layouts, "padded")) {
			turn = append(slices.Clone(turn), name)
		}
	}
	return turn
}
