package trial

import (
	"fmt"
	"maps"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile"
	"triad/internal/ownfile/adapters"
	"triad/internal/ownfile/binding"
)

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

// whereItDeclines notes the sizes of whole tiles for a function that accepts them and declines every quick
// case, as one does that is written for whole tiles or for rows of a power of two. A Python function that
// raises in every quick case declines them too if it does not raise at whole tiles.
func (t *interpretationTrial) whereItDeclines(b *binding.Binding) {
	asked := t.Asked
	if asked.Level != op.LevelQuick || len(asked.Dims) > 0 || !t.file.IsPython() && !adapters.MayDecline(b) {
		return
	}
	raises := false
	for _, every := range []bool{false, true} {
		if t.until.over() {
			return
		}
		t.every = every // of a Python file the smallest case suffices where it is judged
		tally := t.try(t.file, maps.Clone(t.file.Covers.Dims), !raises)
		t.every = false
		raises = t.file.IsPython() && tally.Right == 0 && tally.Wrong > 0 && tally.Raised == tally.Wrong
		declines := tally == (ownfile.Tally{}) && t.declined && adapters.MayDecline(b)
		if !raises && !declines || t.fault != nil {
			return
		}
		if !t.file.IsPython() {
			break
		}
	}
	dims := t.wholeDims()
	if len(dims) == 0 {
		return
	}
	if whole := t.Whole(); whole.Right+whole.Wrong > whole.Raised {
		t.whole = dims
	}
}

// judgeAtWhole makes the file be judged at the whole tiles that it accepts, and says so.
func (t *interpretationTrial) judgeAtWhole() {
	if t.whole == nil {
		return
	}
	t.file.Covers.Shapes = append(t.file.Covers.Shapes, t.whole)
	var words []string
	for _, d := range t.Spec.Dims {
		if n, there := t.whole[d.Name]; there {
			words = append(words, fmt.Sprintf("%s=%d", d.Name, n))
		}
	}
	t.file.Matched = append(t.file.Matched, fmt.Sprintf("%v: it declines the sizes of every quick case: "+
		"it is judged at whole tiles beside them, %s", t.pass, strings.Join(words, " ")))
}
