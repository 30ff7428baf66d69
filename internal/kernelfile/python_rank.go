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
	raisesIf   = regexp.MustCompile(`(?m)^[ \t]*if\b([^:]*):\s*raise\b`)
	otherRank  = regexp.MustCompile(`\b(\w+)\.(?:ndim|dim\(\))\s*!=\s*(\d)|\blen\((\w+)\.shape\)\s*!=\s*(\d)`)
	chainsRank = regexp.MustCompile(
		`\bassert\b.*?\b(\w+)\.(?:ndim|dim\(\))\s*==\s*\w+\.(?:ndim|dim\(\))\s*==\s*(\d)`)
)

// takeRank gives a Python function tensors of as many sizes as its lines say: without those that have no
// parameter and are 1 by default, or with one more in front, which is 1.
func (b *Binding) takeRank() {
	said, rank := b.saidRank(AsItLies)
	if joined, _ := b.saidRank(ByToken); joined > 0 { // --map says that they lie so
		b.takesJoinedHeads(joined, rank)
		return
	}
	if b.Function.Kind != Python || b.Function.form == kernelForm || said == 0 || said == rank ||
		len(b.Options.Without) > 0 {
		return
	}
	if b.takesJoinedHeads(said, rank) || b.takesSizes() {
		return
	}
	if said == 3 && rank == 4 && b.takesOneBatch() {
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
	} else if flat := b.Spec.Own.Flat; said == b.rankWithout(flat) && b.givesNone(flat) {
		b.Options.Without = flat
	} else if some := b.withoutHeads(); said == b.rankWithout(some) && b.givesNone(some) &&
		!b.unpacksHeads() {
		b.Options.Without = some
	}
}

// takesJoinedHeads gives a function that is told how many heads there are tensors whose rows hold all heads
// of a token, [batch, seq, heads * head_dim] or without a batch, and says whether it does.
func (b *Binding) takesJoinedHeads(said, rank int) bool {
	if rank != 4 || b.Spec.Own.TokenSize == "" || b.byToken || b.Function.Kind != Python ||
		b.Function.form == kernelForm || len(b.Options.Without) > 0 {
		return false
	}
	shape := b.shape(b.inputs[0])
	first, _ := shape[0].(string)
	if heads, _ := shape[1].(string); !b.givesSize(heads) {
		return false
	}
	switch {
	case said == 2 && !b.takesSizes() && !b.givesSize(first):
		b.Options.Without = []string{first}
	case said != 3:
		return false
	}
	b.byToken = true
	b.layByToken()
	return true
}

// givesNone says whether there are such sizes and the function has no parameter for any of them.
func (b *Binding) givesNone(sizes []string) bool {
	return len(sizes) > 0 && !slices.ContainsFunc(sizes, b.givesSize)
}

// takesOneBatch gives a function tensors of heads without a batch, in the order that its names say, "seq,
// heads, d = q.shape", and says whether it does.
func (b *Binding) takesOneBatch() bool {
	first, _ := b.shape(b.inputs[0])[0].(string)
	if b.Spec.Own.TokenSize == "" || !slices.Contains(b.Spec.Own.Flat, first) || !b.mayExchange() {
		return false
	}
	plain, exchanged := false, false
	for _, words := range b.file.sizeLists(b, 3) {
		p, e := b.orderOf(append([]string{first}, words...))
		plain, exchanged = plain || p, exchanged || e
	}
	if plain == exchanged {
		return false
	}
	b.Options.Without, b.ordered = []string{first}, true
	if exchanged {
		b.layByToken()
	}
	return true
}

// withoutHeads are the sizes that tensors of a batch without heads do not have, where an operator has both:
// what is done with each head is done with each part of the batch.
func (b *Binding) withoutHeads() []string {
	if flat := b.Spec.Own.Flat; b.Spec.Own.TokenSize != "" && len(flat) > 1 {
		return flat[1:]
	}
	return nil
}

// unpacksHeads says whether the lines call a size of a tensor a number of heads: "seq, heads, d = q.shape".
func (b *Binding) unpacksHeads() bool {
	text := pythonComment.ReplaceAllString(b.Function.text, "")
	for _, m := range unpacksShape.FindAllStringSubmatch(text, -1) {
		for _, name := range strings.Split(m[1], ",") {
			if namesHeads.MatchString(strings.TrimSpace(name)) {
				return true
			}
		}
	}
	return false
}

// namesHeads matches what people call a number of heads, and not the size of one.
var namesHeads = regexp.MustCompile(`(?i)^(?:n?_?h|h_?q|nh|(?:n|num|nb|total)?_?heads?(?:_?(?:q|k|kv))?|` +
	`[a-z]+_heads?)$`)

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

// saidRank is how many sizes the function's lines say that its first tensor has, where it has that form, 0
// where they say nothing or two things, and how many the operator's has.
func (b *Binding) saidRank(form Form) (said, rank int) {
	first := slices.IndexFunc(b.Args, func(a Argument) bool {
		return a.Role == Input && a.Index == 0 && a.Form == form && a.place == inCall
	})
	if rank = len(b.shape(b.inputs[0])); first < 0 || rank == 0 {
		return 0, rank
	}
	if said = b.rankSaidBy(b.Function, b.Args[first].Name, rank, asksDepth); said == 0 {
		said = b.rankOfOthers(rank)
	}
	return max(said, 0), rank
}

// rankOfOthers is how many sizes the lines say that another tensor has which begins with the same size and
// has as many, 0 where they say nothing or two things: "a.view(-1, a.shape[-1])" takes any number of a's.
func (b *Binding) rankOfOthers(rank int) (said int) {
	like := b.shape(b.inputs[0])
	for _, a := range b.Args {
		if a.Role != Input || a.Index == 0 || a.Form != AsItLies || a.place != inCall {
			continue
		}
		shape := b.shape(b.inputs[a.Index])
		if len(shape) != rank || shape[0] != like[0] || b.inputs[a.Index].Optional {
			continue
		}
		n := b.rankSaidBy(b.Function, a.Name, rank, asksDepth)
		if n < 0 || n > 0 && said > 0 && n != said {
			return 0
		}
		said = max(said, n)
	}
	return said
}

// rankSaidBy is how many sizes the lines of a function say that a tensor has, 0 where they say nothing, -1
// where they say two things. Functions of the file that get the tensor are looked into where it says nothing
// itself.
func (b *Binding) rankSaidBy(fn Function, name string, rank, depth int) (said int) {
	text := untilRenamed(pythonComment.ReplaceAllString(fn.text, ""), name)
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
		chainsRank.FindAllStringSubmatch(text, -1), raisesForRank(text)) {
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
	inner := regexp.MustCompile(`\b` + quoted +
		`\.(?:shape\[1\]|size\(1\))\s*[!=]=\s*\w+\.(?:shape\[0\]|size\(0\))`)
	if said == 0 && inner.MatchString(text) { // the inner sizes of two matrices
		add(2)
	}
	if n := passesStrides(text, quoted); said == 0 && n > 0 {
		add(n)
	}
	if said == 0 && depth > 0 {
		said = b.rankSaidInside(fn, name, rank, depth)
	}
	asks := regexp.MustCompile(`\b` + quoted + `\.(?:ndim\b|dim\(\))|len\(` + quoted + `\.shape\)`)
	if said == 0 && !asks.MatchString(text) { // a size beyond the operator's is asked for, whatever is given
		for _, m := range indexesShape.FindAllStringSubmatch(text, -1) {
			if n, err := strconv.Atoi(m[2] + m[3]); err == nil && m[1] == name && n >= rank {
				said = max(said, n+1)
			}
		}
	}
	return said
}

// rankSaidInside is what the functions of the file say of a tensor that a function hands to them.
func (b *Binding) rankSaidInside(fn Function, name string, rank, depth int) int {
	lines := askingLines(fn)
	for _, other := range b.others {
		if other.Name == fn.Name || other.call == "" || other.form == kernelForm || other.form == moduleForm {
			continue
		}
		called := regexp.MustCompile(`\b` + regexp.QuoteMeta(other.call) + `\(`)
		for _, at := range called.FindAllStringIndex(lines, -1) {
			for i, argument := range argumentList(lines[at[1]:]) {
				if i >= len(other.Params) || strings.TrimSpace(argument) != name {
					continue
				}
				if n := b.rankSaidBy(other, other.Params[i].Name, rank, depth-1); n != 0 {
					return n
				}
			}
		}
	}
	return 0
}

// untilRenamed are the lines up to an assignment of another tensor to a name: what stands behind it speaks of
// that.
func untilRenamed(text, name string) string {
	assigned := regexp.MustCompile(`(?m)^[ \t]+` + regexp.QuoteMeta(name) + `[ \t]*=([^=].*)$`)
	for _, at := range assigned.FindAllStringSubmatchIndex(text, -1) {
		if !keepsShape.MatchString(text[at[2]:at[3]]) {
			return text[:at[0]]
		}
	}
	return text
}

// passesStrides is how many sizes a tensor has whose strides are handed on one by one, "a.stride(0),
// a.stride(1)", and of which the lines ask for no other size and make no other shape; 0 where they do not.
// quoted is its name, as a pattern.
func passesStrides(text, quoted string) int {
	asked := map[int]bool{} // the sizes, and whether it is their stride that is asked for
	of := regexp.MustCompile(`\b` + quoted + `\.(shape\[|size\(|stride\()[ \t]*(\d)[ \t]*[\])]`)
	rest := of.ReplaceAllString(text, "")
	for _, m := range of.FindAllStringSubmatch(text, -1) {
		at, _ := strconv.Atoi(m[2])
		asked[at] = asked[at] || m[1] == "stride("
	}
	other := regexp.MustCompile(`\b` + quoted + `(?:\.(?:shape|size|stride|view|reshape|flatten|squeeze|` +
		`unsqueeze|transpose|permute|ndim|dim|T|mT|t)\b|\[)`)
	if other.MatchString(rest) {
		return 0
	}
	for n := range len(asked) {
		if !asked[n] {
			return 0
		}
	}
	return len(asked)
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
	return b.isDim(name) && !b.hasFactors(name)
}

// keepsShape matches what makes a tensor of the same sizes of one.
var keepsShape = regexp.MustCompile(
	`^\s*\w+(?:\.(?:contiguous|to|float|half|cuda|detach|clone|type_as)\([^()]*\))+\s*$`)

// perhapsWithout lists the sizes that the tensors of a function of Python which takes none may do without.
func (b *Binding) perhapsWithout() (all [][]string) {
	if b.Function.Kind != Python || b.takesSizes() || b.Options.said != nil {
		return nil
	}
	shape := b.shape(b.inputs[0])
	for _, d := range b.Spec.Dims {
		if len(shape) > 2 && shape[0] == any(d.Name) && d.Default == "1" && !b.givesSize(d.Name) {
			all = append(all, []string{d.Name})
		}
	}
	for _, sizes := range [][]string{b.Spec.Own.Flat, b.withoutHeads()} {
		if b.givesNone(sizes) {
			all = append(all, sizes)
		}
	}
	return slices.DeleteFunc(all, func(sizes []string) bool { return slices.Equal(sizes, b.Options.Without) })
}

// raisesForRank matches the tensors and the numbers of sizes for which lines raise where a tensor has another
// one: "if a.ndim != 2 or b.ndim != 2: raise". What holds only together with something else says nothing.
func raisesForRank(text string) (all [][]string) {
	for _, m := range raisesIf.FindAllStringSubmatch(text, -1) {
		if !joinsConditions.MatchString(m[1]) {
			all = append(all, otherRank.FindAllStringSubmatch(m[1], -1)...)
		}
	}
	return all
}

var joinsConditions = regexp.MustCompile(`\band\b|\bnot\b`)
