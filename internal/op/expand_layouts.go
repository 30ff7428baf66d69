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
