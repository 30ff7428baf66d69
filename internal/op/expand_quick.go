package op

import "slices"

// ends returns the first four shapes and the last one, which specs make large, and those that give an implied
// dim.
func (s *Spec) ends(shapes []site) []site {
	var plain, given []site
	for _, x := range shapes {
		if s.GivesImplied(x.dims) {
			given = append(given, x)
		} else {
			plain = append(plain, x)
		}
	}
	if n := len(plain); n > 5 {
		plain = append(plain[:4], plain[n-1])
	}
	return append(plain, given...)
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
