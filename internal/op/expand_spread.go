package op

import (
	"cmp"
	"slices"
)

// tallest returns the site with the largest first dim: where that is 1, stride 0 along it would change
// nothing.
func tallest(sites []site, first string) site {
	return slices.MaxFunc(sites, func(a, b site) int { return cmp.Compare(a.dims[first], b.dims[first]) })
}

// spread puts every name on every shape, or on one shape each in turn.
func spread(sites []site, names []string, everywhere bool, draftOf func(site, string) draft) []draft {
	var list []draft
	for i, name := range names {
		if !everywhere {
			list = append(list, draftOf(sites[i%len(sites)], name))
			continue
		}
		for _, x := range sites {
			list = append(list, draftOf(x, name))
		}
	}
	return list
}

// longRows are the distributions that need rows of several tiles.
var longRows = []string{"neg_inf_blocks"}

// ofLongRows parts distributions into those of rows of any length and those of long rows.
func ofLongRows(names []string) (others, long []string) {
	for _, name := range names {
		if slices.Contains(longRows, name) {
			long = append(long, name)
		} else {
			others = append(others, name)
		}
	}
	return others, long
}

// inLongRows lists the drafts of distributions of long rows: one on the shape of the marked ones whose last
// dim is the largest, under --full on each, and one on each shape that meets every distribution. They come
// last in a plan: attributes and saved tensors take turns, and the cases before them do not change.
func (p *planner) inLongRows(marked []site, names []string) (list []draft) {
	last := p.spec.Dims[len(p.spec.Dims)-1].Name
	for _, name := range names {
		sites := []site{slices.MaxFunc(marked, func(a, b site) int {
			return cmp.Compare(a.dims[last], b.dims[last])
		})}
		if p.options.Level == LevelFull {
			sites = marked
		}
		for _, x := range sites {
			list = append(list, draft{at: x, distribution: name, cover: p.options.Level != LevelQuick})
		}
		for _, x := range p.sites {
			if x.every {
				list = append(list, draft{at: x, distribution: name})
			}
		}
	}
	return list
}
