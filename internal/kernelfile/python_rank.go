package kernelfile

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	unpacksShape = regexp.MustCompile(`(?m)^[ \t]*\(?(\w+(?:[ \t]*,[ \t]*\w+)+)[ \t]*,?\)?` +
		`[ \t]*=[ \t]*(\w+)\.(?:shape|size\(\))[ \t]*$`)
	assertsRank = regexp.MustCompile(
		`\bassert\b.*?\b(\w+)\.(?:ndim|dim\(\))\s*==\s*(\d)|\bassert\b.*?\blen\((\w+)\.shape\)\s*==\s*(\d)`)
	indexesShape = regexp.MustCompile(
		`\b(\w+)\.(?:shape\[[ \t]*(\d)[ \t]*\]|(?:size|stride)\([ \t]*(\d)[ \t]*\))`)
	chainsRank = regexp.MustCompile(
		`\bassert\b.*?\b(\w+)\.(?:ndim|dim\(\))\s*==\s*\w+\.(?:ndim|dim\(\))\s*==\s*(\d)`)
)

// takeRank gives a Python function tensors of as many sizes as its lines say: without those that have no
// parameter and are 1 by default, or with one more in front, which is 1.
func (b *Binding) takeRank() {
	said, rank := b.saidRank()
	if b.Function.Kind != Python || b.Function.form == kernelForm || said == 0 || said == rank ||
		len(b.Options.Without) > 0 {
		return
	}
	if shape := b.shape(b.inputs[0]); said == 3 && rank == 4 && b.Spec.Own.TokenSize != "" && !b.byToken {
		if heads, _ := shape[1].(string); b.givesSize(heads) { // [batch, seq, heads * head_dim]
			b.byToken = true
			b.layByToken()
			return
		}
	}
	if b.takesSizes() {
		return
	}
	if said == rank+1 && rank <= 2 {
		b.Options.Leading = true
		return
	}
	var ones []string
	for _, d := range b.Spec.Dims {
		if d.Default == "1" && !b.givesSize(d.Name) {
			ones = append(ones, d.Name)
		}
	}
	shape := b.shape(b.inputs[0])
	first, _ := shape[0].(string)
	row := said == 1 && rank == 2 && !b.givesSize(first) // one row alone
	if row || said == rank-1 && slices.Contains(ones, first) {
		b.Options.Without = []string{first}
	} else if flat := b.Spec.Own.Flat; len(flat) > 0 && said == b.rankWithout(flat) {
		b.Options.Without = flat
	}
}

// rankWithout is how many sizes the first input has, some of them left out.
func (b *Binding) rankWithout(sizes []string) int {
	n := 0
	for _, size := range b.shape(b.inputs[0]) {
		if name, _ := size.(string); !slices.Contains(sizes, name) {
			n++
		}
	}
	return n
}

// saidRank is how many sizes the function's lines say that its first tensor has, 0 where they say nothing or
// two things, and how many the operator's has.
func (b *Binding) saidRank() (said, rank int) {
	first := slices.IndexFunc(b.Args, func(a Argument) bool {
		return a.Role == Input && a.Index == 0 && a.Form == AsItLies && a.place == inCall
	})
	if rank = len(b.shape(b.inputs[0])); first < 0 || rank == 0 {
		return 0, rank
	}
	name := b.Args[first].Name
	text := pythonComment.ReplaceAllString(b.Function.text, "")
	// what stands behind another assignment to it speaks of another tensor
	assigned := regexp.MustCompile(`(?m)^[ \t]+` + regexp.QuoteMeta(name) + `[ \t]*=([^=].*)$`)
	for _, at := range assigned.FindAllStringSubmatchIndex(text, -1) {
		if !keepsShape.MatchString(text[at[2]:at[3]]) {
			text = text[:at[0]]
			break
		}
	}
	add := func(n int) {
		if said != 0 && said != n {
			n = -1
		}
		said = n
	}
	for _, m := range unpacksShape.FindAllStringSubmatch(text, -1) {
		if m[2] == name {
			add(strings.Count(m[1], ",") + 1)
		}
	}
	for _, m := range slices.Concat(assertsRank.FindAllStringSubmatch(text, -1),
		chainsRank.FindAllStringSubmatch(text, -1)) {
		for i := 1; i+1 < len(m); i += 2 {
			if n, err := strconv.Atoi(m[i+1]); err == nil && m[i] == name {
				add(n)
			}
		}
	}
	quoted := regexp.QuoteMeta(name)
	ofMatrix := regexp.MustCompile(`\btorch\.mm\(\s*` + quoted + `\b|\b` + quoted + `\.(?:mm\(|t\(\))`)
	if ofMatrix.MatchString(text) { // torch takes nothing else there
		add(2)
	}
	asks := regexp.MustCompile(`\b` + quoted + `\.(?:ndim\b|dim\(\))|len\(` + quoted + `\.shape\)`)
	if said == 0 && !asks.MatchString(text) { // a size beyond the operator's is asked for, whatever is given
		said = rank
		for _, m := range indexesShape.FindAllStringSubmatch(text, -1) {
			if n, err := strconv.Atoi(m[2] + m[3]); err == nil && m[1] == name {
				said = max(said, n+1)
			}
		}
	}
	return max(said, 0), rank
}

// leads says whether a tensor of these sizes gets one more in front. Vectors beside a matrix get none.
func (b *Binding) leads(sizes []any) bool {
	if !b.Options.Leading || len(sizes) == 0 {
		return false
	}
	if len(b.shape(b.inputs[0])) > 1 {
		return len(sizes) > 1
	}
	name, _ := sizes[0].(string)
	return b.isDim(name)
}

// keepsShape matches what makes a tensor of the same sizes of one.
var keepsShape = regexp.MustCompile(
	`^\s*\w+(?:\.(?:contiguous|to|float|half|cuda|detach|clone|type_as)\([^()]*\))+\s*$`)
