package launches

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/extents"
	"triad/internal/ownfile/launchfit"
	"triad/internal/ownfile/layout"
	"triad/internal/ownfile/match"
)

// BlockThreads is the proposed block if the file names none.
const BlockThreads = 256

// SideThreads is the side of a square block of that many threads.
const SideThreads = 16

// ProposeLaunch reads --grid, --block and --shared, and takes the rest from the kernel's own lines.
func ProposeLaunch(b *binding.Binding, file *cfacts.File) error {
	b.Launch = &binding.Launch{Shared: "0"}
	l := b.Launch
	k := binding.Body{B: b, File: file, Tokens: b.Function.Body}
	block, threads := block(k)
	grid, shared := func() ([3]string, bool) { return grid(k) }, ""
	if found := ownLaunch(k); found != nil { // what the file says itself
		if found.block[0] != "" {
			block, threads = found.block, true
		}
		// it is there, and cannot be said in sizes
		l.Guessed = (found.grid[0] == "" || found.unsure) && b.Options.Grid == ""
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
			l.Guessed = l.Guessed || !said
			l.Proposed = append(l.Proposed, part.flag)
			continue
		}
		var err error
		if *part.into, err = LaunchSizes(b, part.flag, part.asked); err != nil {
			return err
		}
		if err := checkLaunchable(b, part.flag, part.asked, *part.into); err != nil {
			return err
		}
	}
	// neither the launch nor the addition of the values is in the file
	valueOfEachBlock := func(a binding.Argument) bool {
		return a.Role == binding.Output && a.Adapter != layout.BlockTotals && GivesValueOfEachBlock(k, a)
	}
	l.Guessed = l.Guessed || b.Options.Grid == "" &&
		(slices.ContainsFunc(b.Args, valueOfEachBlock) || partOfMore(k, file) || worksWithOthers(k))
	if element, dynamic := dynamicShared(k); b.Options.Shared != "" {
		var err error
		if l.Shared, err = launchSize(b, "--shared", b.Options.Shared); err != nil {
			return err
		}
	} else if dynamic && shared != "" {
		l.Shared = shared
	} else if dynamic {
		l.Shared, l.Guessed = fmt.Sprintf("%d * %s", element, Product(l.Block)), true
		l.Proposed = append(l.Proposed, "--shared")
	}
	return nil
}

// partOfMore reports whether a kernel may be one of several that work together, though the file launches
// none: it has scratch memory, gives a value for each block, or goes through all of a vector by blocks that
// share memory.
func partOfMore(k binding.Body, file *cfacts.File) bool {
	if ownLaunch(k) != nil {
		return false
	}
	scratch := slices.ContainsFunc(k.B.Args,
		func(a binding.Argument) bool { return a.Adapter == layout.Scratch })
	return scratch || k.B.HasAdapter(layout.BlockTotals) || len(k.B.Spec.Dims) == 1 && file.Shares ||
		reducesPartOfARow(k, file)
}

// worksWithOthers reports whether another kernel of the file writes a parameter that this one only reads, or
// the other way round, under one name that is no input's of the operator: the two may be launched one after
// the other.
func worksWithOthers(k binding.Body) bool {
	fn := k.B.Function
	isInput := func(name string) bool {
		return slices.ContainsFunc(k.B.InputSpecs, func(t op.TensorSpec) bool {
			return match.Score(k.B.Spec, k.B.Pass, name, t.Name) > match.Weak
		})
	}
	for _, other := range k.File.Functions {
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
func reducesPartOfARow(k binding.Body, file *cfacts.File) bool {
	words := cfacts.Lex(k.B.Launch.Grid[0]).Tokens
	if uses(k, k.Tokens, "threadIdx", "y") || !cfacts.HasTexts(words, "ceildiv") ||
		!cfacts.HasTexts(words, LastSize(k.B)) {
		return false
	}
	return file.Anywhere(&k.B.Function, func(fn *cfacts.Function, i int) bool {
		return strings.HasPrefix(fn.Body[i].Text, "__shfl")
	})
}

// GivesValueOfEachBlock reports whether each block writes its own element of an output of one element,
// "out[blockIdx.x]".
func GivesValueOfEachBlock(k binding.Body, a binding.Argument) bool {
	if list := extents.Shape(k.B, k.B.OutputSpecs[a.Index]); len(list) != 1 || list[0] != "1" {
		return false
	}
	return cfacts.HasTexts(expandAliases(k), a.Name, "[", "blockIdx", cfacts.AnyText, cfacts.AnyText, "]")
}

// uses reports whether a body reads, say, threadIdx.y.
func uses(k binding.Body, tokens []cfacts.Token, word, axis string) bool {
	return cfacts.HasTexts(tokens, word, ".", axis)
}

// number returns the value of a word: a literal, a #define, a constant of the file or a template argument.
func number(k binding.Body, word string) (int, bool) {
	for i, t := range k.B.Function.Template {
		if t.Name == word && i < len(k.B.Options.Arguments) {
			word = k.B.Options.Arguments[i]
		} else if t.Name == word && t.Default != "" {
			word = t.Default
		}
	}
	if n, own := k.Constant(word); own {
		word = n
	}
	if n, is := cfacts.IntegerValue(word); is { // 256 / 4
		return int(n), true
	}
	n, is := k.File.Number(word)
	return int(n), is
}

// grid proposes a grid: as many blocks as the index that the kernel makes from blockIdx needs to reach its
// bound. said is false if it has no bound and could count several things.
func grid(k binding.Body) (grid [3]string, said bool) {
	grid, said = [3]string{"1", "1", "1"}, true
	used := len(binding.Those(launchfit.Axes[:], func(axis string) bool {
		return uses(k, k.Tokens, "blockIdx", axis)
	}))
	for i, axis := range launchfit.Axes {
		if !uses(k, k.Tokens, "blockIdx", axis) {
			continue
		}
		name, made := index(k, k.Tokens, axis)
		// bx = blockIdx.x, or tid = threadIdx.x: what counts is the index that is made of both
		if threadOf(k, made, axis) == "" {
			if n, m := index(k, expandAliases(k), axis); len(m) > 3 && threadOf(k, m, axis) != "" {
				name, made = n, m
			}
		}
		limit := limit(k, name)
		if limit == "" && used == 1 && rowOfEachBlock(k, axis) {
			grid[i] = defaultLimit(k, i, used, false)
			continue
		}
		if limit == "" {
			said = said && used == 1
			limit = defaultLimit(k, i, used, len(made) > 0 && uses(k, made, "threadIdx", axis))
		}
		per := perBlock(k, made, axis)
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
func rowOfEachBlock(k binding.Body, axis string) bool {
	tokens := expandAliases(k)
	length := func(at int) bool {
		if at < 0 || at >= len(tokens) {
			return false
		}
		a := slices.IndexFunc(k.B.Args, func(a binding.Argument) bool { return a.Name == tokens[at].Text })
		return a >= 0 && k.B.Args[a].Role == binding.Size && k.B.Args[a].Target == LastSize(k.B)
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
func index(k binding.Body, tokens []cfacts.Token, axis string) (name string, made []cfacts.Token) {
	for i := 1; i < len(tokens); i++ {
		if tokens[i].Text != "=" || !tokens[i-1].IsName() {
			continue
		}
		if made = tokens[i+1 : cfacts.ValueEnd(tokens, i+1)]; uses(k, made, "blockIdx", axis) {
			return tokens[i-1].Text, made
		}
	}
	return "", nil
}

// expandAliases returns the body's tokens with blockIdx and threadIdx in place of the variables that hold
// nothing else, "bx = blockIdx.x", whose definitions are left out.
func expandAliases(k binding.Body) []cfacts.Token {
	stands := map[string][]cfacts.Token{}
	var all []cfacts.Token
	for i := 0; i < len(k.Tokens); i++ {
		t := k.Tokens[i]
		if i+5 < len(k.Tokens) && t.IsName() && k.Tokens[i+1].Text == "=" &&
			(k.Tokens[i+2].Text == "blockIdx" || k.Tokens[i+2].Text == "threadIdx") &&
			strings.Contains(";,", k.Tokens[i+5].Text) {
			stands[t.Text] = k.Tokens[i+2 : i+5]
			i += 4
			continue
		}
		if of, is := stands[t.Text]; is && (i == 0 || k.Tokens[i-1].Text != ".") {
			all = append(all, of...)
			continue
		}
		all = append(all, t)
	}
	return all
}

// threadOf returns the axis of the threads that an index combines with the blocks of an axis: the same one,
// else another by whose threads it counts, "blockIdx.x * blockDim.y + threadIdx.y"; "" if there is none.
func threadOf(k binding.Body, made []cfacts.Token, axis string) string {
	if uses(k, made, "threadIdx", axis) {
		return axis
	}
	for _, other := range launchfit.Axes {
		if uses(k, made, "threadIdx", other) && uses(k, made, "blockDim", other) {
			return other
		}
	}
	return ""
}

// perBlock returns the number of values of an index that a block covers.
func perBlock(k binding.Body, made []cfacts.Token, axis string) string {
	thread := threadOf(k, made, axis)
	if thread == "" {
		return "1"
	}
	side := k.B.Launch.Block[slices.Index(launchfit.Axes[:], thread)]
	end := cfacts.Closing(made, 0) + 1
	if made[0].Text == "(" && end+2 == len(made) && cfacts.TextsAt(made, end, "*") {
		if n, ok := number(k, made[end+1].Text); ok && n > 1 { // several elements for each thread
			return fmt.Sprintf("(%s * %d)", side, n)
		}
	}
	for i := range made { // threadIdx.x / 32: a warp for each
		if i+4 < len(made) && made[i].Text == "threadIdx" && made[i+3].Text == "/" {
			if n, ok := number(k, made[i+4].Text); ok && n > 1 {
				return fmt.Sprintf("(%s / %d)", side, n)
			}
		}
	}
	return side
}

// limit returns how many values an index may have by the comparisons with it, in the operator's sizes: the
// most that any of them admits, so that no guarded element is left out; "" without a comparison.
func limit(k binding.Body, name string) string {
	var bounds, weak []string
	defined := 0
	for i := 0; i+2 < len(k.Tokens) && name != ""; i++ {
		if k.Tokens[i].Text != name {
			continue
		}
		if k.Tokens[i+1].Text == "=" {
			if defined++; defined > 1 && len(bounds) > 0 {
				break // it is another index from here on
			}
		}
		if i+4 < len(k.Tokens) && k.Tokens[i+1].Text == "+" && k.Tokens[i+2].IsName() {
			i += 2 // y + j < height, of a thread that goes over several rows
		}
		sign := k.Tokens[i+1].Text
		if !slices.Contains([]string{"<", ">=", "<=", ">", "=="}, sign) {
			continue
		}
		end, depth := i+2, 0
		for ; end < len(k.Tokens) && depth >= 0; end++ {
			switch t := k.Tokens[end].Text; {
			case t == "(":
				depth++
			case t == ")":
				depth--
			case depth == 0 && slices.Contains([]string{"&&", "||", ";", "?", "{"}, t):
				depth = -1
			}
		}
		text, ok := translate(k.B, k.Tokens[i+2:end-1])
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
func defaultLimit(k binding.Body, axis, used int, byElement bool) string {
	dims := OutputSizes(k.B)
	total := byElement && k.B.Spec.Own.Total == k.B.OutputSpecs[0].Name
	if total || k.B.HasAdapter(layout.BlockTotals) { // as many blocks as it takes to add up all of the input
		dims = sizesOf(k.B, k.B.InputSpecs[0])
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

// OutputSizes returns the sizes of the first output as a launch can express them: in dims and numbers. An
// attribute has its given value there, else its default.
func OutputSizes(b *binding.Binding) []string { return sizesOf(b, b.OutputSpecs[0]) }

// sizesOf returns the sizes of a tensor in the same form.
func sizesOf(b *binding.Binding, t op.TensorSpec) []string {
	var words []string
	list, _ := t.Shape.([]any)
	if list == nil && b.Function.Form == binding.KernelForm {
		list = extents.Shape(b, t)
	}
	for _, size := range list {
		if text, ok := size.(string); ok {
			words = append(words, withoutAttributes(b, text))
		}
	}
	return words
}

// withoutAttributes returns an expression of a size with attributes replaced by their values.
func withoutAttributes(b *binding.Binding, text string) string {
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
func dynamicShared(k binding.Body) (element int64, ok bool) {
	for i := 0; i+1 < len(k.Tokens); i++ {
		if k.Tokens[i].Text == "extern" && k.Tokens[i+1].Text == "__shared__" {
			for _, t := range k.Tokens[i+2 : min(i+8, len(k.Tokens))] {
				if d, known := cfacts.ElementTypes[k.File.Resolve(t.Text)]; known {
					return d.Size(), true
				}
			}
			return 4, true
		}
	}
	return 0, false
}
