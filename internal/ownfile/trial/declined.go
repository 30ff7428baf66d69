package trial

import (
	"fmt"
	"maps"
	"strings"

	"triad/internal/kernelfile"
	"triad/internal/op"
)

// whereItDeclines notes the sizes of whole tiles for a function that accepts them and declines every quick
// case, as one does that is written for whole tiles or for rows of a power of two. A Python function that
// raises in every quick case declines them too if it does not raise at whole tiles.
func (t *interpretationTrial) whereItDeclines(b *kernelfile.Binding) {
	asked := t.Asked
	if asked.Level != op.LevelQuick || len(asked.Dims) > 0 || !t.file.IsPython() && !b.MayDecline() {
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
		declines := tally == (kernelfile.Tally{}) && t.declined && b.MayDecline()
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
