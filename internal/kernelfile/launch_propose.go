package kernelfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/launchfit"
	"triad/internal/ownfile/layout"
	"triad/internal/ownfile/match"
)

// blockThreads is the proposed block if the file names none.
const blockThreads = 256

// sideThreads is the side of a square block of that many threads.
const sideThreads = 16

// proposeLaunch reads --grid, --block and --shared, and takes the rest from the kernel's own lines.
func (b *Binding) proposeLaunch(file *cfacts.File) error {
	b.Launch = &Launch{Shared: "0"}
	l := b.Launch
	k := body{b: b, file: file, tokens: b.Function.Body}
	block, threads := k.block()
	grid, shared := k.grid, ""
	if found := k.ownLaunch(); found != nil { // what the file says itself
		if found.block[0] != "" {
			block, threads = found.block, true
		}
		// it is there, and cannot be said in sizes
		l.guessed = (found.grid[0] == "" || found.unsure) && b.Options.Grid == ""
		if found.grid[0] != "" {
			grid = func() ([3]string, bool) { return found.grid, true }
		}
		shared = found.shared
	}
	for _, part := range []struct {
		flag, asked string
		into        *[3]string
		otherwise   func() (sizes [3]string, said bool)
	}{
		{"--block", b.Options.Block, &l.Block, func() ([3]string, bool) { return block, threads }},
		{"--grid", b.Options.Grid, &l.Grid, grid},
	} {
		if part.asked == "" {
			var said bool
			*part.into, said = part.otherwise()
			l.guessed = l.guessed || !said
			l.proposed = append(l.proposed, part.flag)
			continue
		}
		var err error
		if *part.into, err = b.launchSizes(part.flag, part.asked); err != nil {
			return err
		}
		if err := b.checkLaunchable(part.flag, part.asked, *part.into); err != nil {
			return err
		}
	}
	// neither the launch nor the addition of the values is in the file
	valueOfEachBlock := func(a Argument) bool {
		return a.Role == Output && a.Adapter != layout.BlockTotals && k.givesValueOfEachBlock(a)
	}
	l.guessed = l.guessed || b.Options.Grid == "" &&
		(slices.ContainsFunc(b.Args, valueOfEachBlock) || k.partOfMore(file) || k.worksWithOthers())
	if element, dynamic := k.dynamicShared(); b.Options.Shared != "" {
		var err error
		if l.Shared, err = b.launchSize("--shared", b.Options.Shared); err != nil {
			return err
		}
	} else if dynamic && shared != "" {
		l.Shared = shared
	} else if dynamic {
		l.Shared, l.guessed = fmt.Sprintf("%d * %s", element, product(l.Block)), true
		l.proposed = append(l.proposed, "--shared")
	}
	return nil
}

// body is a kernel's body, searched for the launch that it is written for.
type body struct {
	b      *Binding
	file   *cfacts.File
	tokens []cfacts.Token
}

// partOfMore reports whether a kernel may be one of several that work together, though the file launches
// none: it has scratch memory, gives a value for each block, or goes through all of a vector by blocks that
// share memory.
func (k body) partOfMore(file *cfacts.File) bool {
	if k.ownLaunch() != nil {
		return false
	}
	scratch := slices.ContainsFunc(k.b.Args, func(a Argument) bool { return a.Adapter == layout.Scratch })
	return scratch || k.b.hasAdapter(layout.BlockTotals) || len(k.b.Spec.Dims) == 1 && file.Shares ||
		k.reducesPartOfARow(file)
}

// worksWithOthers reports whether another kernel of the file writes a parameter that this one only reads, or
// the other way round, under one name that is no input's of the operator: the two may be launched one after
// the other.
func (k body) worksWithOthers() bool {
	fn := k.b.Function
	isInput := func(name string) bool {
		return slices.ContainsFunc(k.b.inputs, func(t op.TensorSpec) bool {
			return match.Score(k.b.Spec, k.b.Pass, name, t.Name) > match.Weak
		})
	}
	for _, other := range k.file.Functions {
		if other.Kind != cfacts.Kernel || other.Name == fn.Name ||
			match.IsBackward(other.Name) != match.IsBackward(fn.Name) {
			continue
		}
		for _, p := range fn.Params {
			for _, q := range other.Params {
				if p.Pointer && q.Pointer && p.Name == q.Name && p.Writing.Any() != q.Writing.Any() &&
					!isInput(p.Name) {
					return true
				}
			}
		}
	}
	return false
}

// reducesPartOfARow reports whether a kernel is launched with several blocks for a row, each of which reduces
// its own elements to one number by shuffles, in the kernel or in a function that it calls: one block for a
// row may be meant.
func (k body) reducesPartOfARow(file *cfacts.File) bool {
	words := cfacts.Lex(k.b.Launch.Grid[0]).Tokens
	if k.uses(k.tokens, "threadIdx", "y") || !cfacts.HasTexts(words, "ceildiv") ||
		!cfacts.HasTexts(words, k.b.lastSize()) {
		return false
	}
	return file.Anywhere(&k.b.Function, func(fn *cfacts.Function, i int) bool {
		return strings.HasPrefix(fn.Body[i].Text, "__shfl")
	})
}

// givesValueOfEachBlock reports whether each block writes its own element of an output of one element,
// "out[blockIdx.x]".
func (k body) givesValueOfEachBlock(a Argument) bool {
	if list := k.b.shape(k.b.outputs[a.Index]); len(list) != 1 || list[0] != "1" {
		return false
	}
	return cfacts.HasTexts(k.expandAliases(), a.Name, "[", "blockIdx", cfacts.AnyText, cfacts.AnyText, "]")
}

// uses reports whether a body reads, say, threadIdx.y.
func (k body) uses(tokens []cfacts.Token, word, axis string) bool {
	return cfacts.HasTexts(tokens, word, ".", axis)
}

// number returns the value of a word: a literal, a #define, a constant of the file or a template argument.
func (k body) number(word string) (int, bool) {
	for i, t := range k.b.Function.Template {
		if t.Name == word && i < len(k.b.Options.Arguments) {
			word = k.b.Options.Arguments[i]
		} else if t.Name == word && t.Default != "" {
			word = t.Default
		}
	}
	if n, own := k.constant(word); own {
		word = n
	}
	n, is := k.file.Number(word)
	return int(n), is
}

// grid proposes a grid: as many blocks as the index that the kernel makes from blockIdx needs to reach its
// bound. said is false if it has no bound and could count several things.
func (k body) grid() (grid [3]string, said bool) {
	grid, said = [3]string{"1", "1", "1"}, true
	used := len(those(launchfit.Axes[:], func(axis string) bool {
		return k.uses(k.tokens, "blockIdx", axis)
	}))
	for i, axis := range launchfit.Axes {
		if !k.uses(k.tokens, "blockIdx", axis) {
			continue
		}
		name, made := k.index(k.tokens, axis)
		// bx = blockIdx.x, or tid = threadIdx.x: what counts is the index that is made of both
		if k.threadOf(made, axis) == "" {
			if n, m := k.index(k.expandAliases(), axis); len(m) > 3 && k.threadOf(m, axis) != "" {
				name, made = n, m
			}
		}
		limit := k.limit(name)
		if limit == "" && used == 1 && k.rowOfEachBlock(axis) {
			grid[i] = k.defaultLimit(i, used, false)
			continue
		}
		if limit == "" {
			said = said && used == 1
			limit = k.defaultLimit(i, used, len(made) > 0 && k.uses(made, "threadIdx", axis))
		}
		per := k.perBlock(made, axis)
		if per == "1" {
			grid[i] = limit
		} else {
			grid[i] = fmt.Sprintf("ceildiv(%s, %s)", limit, per)
		}
	}
	return grid, said
}

// rowOfEachBlock reports whether the block index counts rows, as it is multiplied by the length of one:
// "x[blockIdx.x * n + i]".
func (k body) rowOfEachBlock(axis string) bool {
	tokens := k.expandAliases()
	length := func(at int) bool {
		if at < 0 || at >= len(tokens) {
			return false
		}
		a := slices.IndexFunc(k.b.Args, func(a Argument) bool { return a.Name == tokens[at].Text })
		return a >= 0 && k.b.Args[a].Role == Size && k.b.Args[a].Target == k.b.lastSize()
	}
	for i := 0; i+2 < len(tokens); i++ {
		if tokens[i].Text == "blockIdx" && tokens[i+2].Text == axis &&
			(i+3 < len(tokens) && tokens[i+3].Text == "*" && length(i+4) ||
				i > 0 && tokens[i-1].Text == "*" && length(i-2)) {
			return true
		}
	}
	return false
}

// index finds "NAME = ... blockIdx.axis ...;": the name, and the tokens after "=".
func (k body) index(tokens []cfacts.Token, axis string) (name string, made []cfacts.Token) {
	for i := 1; i < len(tokens); i++ {
		if tokens[i].Text != "=" || !tokens[i-1].IsName() {
			continue
		}
		if made = tokens[i+1 : cfacts.ValueEnd(tokens, i+1)]; k.uses(made, "blockIdx", axis) {
			return tokens[i-1].Text, made
		}
	}
	return "", nil
}

// expandAliases returns the body's tokens with blockIdx and threadIdx in place of the variables that hold
// nothing else, "bx = blockIdx.x", whose definitions are left out.
func (k body) expandAliases() []cfacts.Token {
	stands := map[string][]cfacts.Token{}
	var all []cfacts.Token
	for i := 0; i < len(k.tokens); i++ {
		t := k.tokens[i]
		if i+5 < len(k.tokens) && t.IsName() && k.tokens[i+1].Text == "=" &&
			(k.tokens[i+2].Text == "blockIdx" || k.tokens[i+2].Text == "threadIdx") &&
			strings.Contains(";,", k.tokens[i+5].Text) {
			stands[t.Text] = k.tokens[i+2 : i+5]
			i += 4
			continue
		}
		if of, is := stands[t.Text]; is && (i == 0 || k.tokens[i-1].Text != ".") {
			all = append(all, of...)
			continue
		}
		all = append(all, t)
	}
	return all
}

// threadOf returns the axis of the threads that an index combines with the blocks of an axis: the same one,
// else another by whose threads it counts, "blockIdx.x * blockDim.y + threadIdx.y"; "" if there is none.
func (k body) threadOf(made []cfacts.Token, axis string) string {
	if k.uses(made, "threadIdx", axis) {
		return axis
	}
	for _, other := range launchfit.Axes {
		if k.uses(made, "threadIdx", other) && k.uses(made, "blockDim", other) {
			return other
		}
	}
	return ""
}

// perBlock returns the number of values of an index that a block covers.
func (k body) perBlock(made []cfacts.Token, axis string) string {
	thread := k.threadOf(made, axis)
	if thread == "" {
		return "1"
	}
	side := k.b.Launch.Block[slices.Index(launchfit.Axes[:], thread)]
	for i := range made { // threadIdx.x / 32: a warp for each
		if i+4 < len(made) && made[i].Text == "threadIdx" && made[i+3].Text == "/" {
			if n, ok := k.number(made[i+4].Text); ok && n > 1 {
				return fmt.Sprintf("(%s / %d)", side, n)
			}
		}
	}
	return side
}

// limit returns how many values an index may have by the comparisons with it, in the operator's sizes: the
// most that any of them admits, so that no guarded element is left out; "" without a comparison.
func (k body) limit(name string) string {
	var bounds, weak []string
	defined := 0
	for i := 0; i+2 < len(k.tokens) && name != ""; i++ {
		if k.tokens[i].Text != name {
			continue
		}
		if k.tokens[i+1].Text == "=" {
			if defined++; defined > 1 && len(bounds) > 0 {
				break // it is another index from here on
			}
		}
		if i+4 < len(k.tokens) && k.tokens[i+1].Text == "+" && k.tokens[i+2].IsName() {
			i += 2 // y + j < height, of a thread that goes over several rows
		}
		sign := k.tokens[i+1].Text
		if !slices.Contains([]string{"<", ">=", "<=", ">", "=="}, sign) {
			continue
		}
		end, depth := i+2, 0
		for ; end < len(k.tokens) && depth >= 0; end++ {
			switch t := k.tokens[end].Text; {
			case t == "(":
				depth++
			case t == ")":
				depth--
			case depth == 0 && slices.Contains([]string{"&&", "||", ";", "?", "{"}, t):
				depth = -1
			}
		}
		text, ok := k.b.translate(k.tokens[i+2 : end-1])
		number := strings.Trim(text, "0123456789") == "" // i >= 1, of an index that is one of the first
		if sign != "<" && sign != ">=" {                 // the bound itself is admitted
			text = strings.TrimSuffix(text+" + 1", " - 1 + 1")
		}
		switch {
		case !ok, number && sign != "<":
		case sign == "==" || sign == ">":
			weak = append(weak, text)
		default:
			bounds = append(bounds, text)
		}
	}
	if len(bounds) == 0 {
		return ""
	}
	return most(append(bounds, weak...))
}

// most returns the largest of some sizes, at least 1: of "n" and "n - 1" the first.
func most(sizes []string) (largest string) {
	base := func(text string) string {
		if i := strings.LastIndex(text, " - "); i >= 0 && strings.Trim(text[i+3:], "0123456789") == "" {
			return text[:i]
		}
		return text
	}
	for i, text := range sizes {
		if slices.Contains(sizes[:i], text) || base(text) != text && slices.Contains(sizes, base(text)) {
			continue
		}
		if largest == "" && strings.ContainsAny(text, "-/%") {
			largest = "1"
		}
		if largest == "" {
			largest = text
		} else {
			largest = fmt.Sprintf("max(%s, %s)", largest, text)
		}
	}
	return largest
}

// defaultLimit returns the extent of an axis that the kernel does not bound: with one axis every element or
// every row of the first output, with two the columns along x and the rows along y.
func (k body) defaultLimit(axis, used int, byElement bool) string {
	dims := k.b.outputSizes()
	total := byElement && k.b.Spec.Own.Total == k.b.outputs[0].Name
	if total || k.b.hasAdapter(layout.BlockTotals) { // as many blocks as it takes to add up all of the input
		dims = k.b.sizesOf(k.b.inputs[0])
	}
	rows := cmp.Or(strings.Join(dims[:max(len(dims)-1, 0)], " * "), "1")
	switch {
	case len(dims) == 0:
		return "1"
	case used == 1 && byElement:
		return strings.Join(dims, " * ")
	case used == 1:
		return rows
	case axis == 0:
		return dims[len(dims)-1]
	case axis == 1 && len(dims) >= 2 && used == 2:
		return rows
	case len(dims) >= axis+1:
		return dims[len(dims)-1-axis]
	}
	return "1"
}

// outputSizes returns the sizes of the first output as a launch can express them: in dims and numbers. An
// attribute has its given value there, else its default.
func (b *Binding) outputSizes() []string { return b.sizesOf(b.outputs[0]) }

// sizesOf returns the sizes of a tensor in the same form.
func (b *Binding) sizesOf(t op.TensorSpec) []string {
	var words []string
	list, _ := t.Shape.([]any)
	if list == nil && b.Function.Form == kernelForm {
		list = b.shape(t)
	}
	for _, size := range list {
		if text, ok := size.(string); ok {
			words = append(words, b.withoutAttributes(text))
		}
	}
	return words
}

// withoutAttributes returns an expression of a size with attributes replaced by their values.
func (b *Binding) withoutAttributes(text string) string {
	words := cfacts.Lex(text).Tokens
	for i, t := range words {
		for _, a := range b.Spec.Attributes {
			if t.Text == a.Name {
				words[i].Text = cmp.Or(b.Options.Attrs[a.Name], fmt.Sprint(a.Default))
			}
		}
	}
	return cfacts.Join(words)
}

// dynamicShared reports whether the kernel has an extern __shared__ array, and its bytes per element.
func (k body) dynamicShared() (element int64, ok bool) {
	for i := 0; i+1 < len(k.tokens); i++ {
		if k.tokens[i].Text == "extern" && k.tokens[i+1].Text == "__shared__" {
			for _, t := range k.tokens[i+2 : min(i+8, len(k.tokens))] {
				if d, known := cfacts.ElementTypes[k.file.Resolve(t.Text)]; known {
					return d.Size(), true
				}
			}
			return 4, true
		}
	}
	return 0, false
}
