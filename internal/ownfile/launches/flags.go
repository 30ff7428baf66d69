package launches

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
)

// MaxThreads is the most threads that a block may have on every GPU.
const MaxThreads = 1024

// Uses reports whether an expression of the launch names a dim.
func Uses(l *binding.Launch, dim string) bool {
	return slices.ContainsFunc(slices.Concat(l.Grid[:], l.Block[:], []string{l.Shared}),
		func(text string) bool { return cfacts.HasTexts(cfacts.Lex(text).Tokens, dim) })
}

func Product(s [3]string) string {
	words := binding.Those(s[:], func(x string) bool { return x != "1" })
	return cmp.Or(strings.Join(words, " * "), "1")
}

// LaunchSizes reads up to three expressions.
func LaunchSizes(b *binding.Binding, flag, text string) ([3]string, error) {
	all := [3]string{"1", "1", "1"}
	parts := cfacts.SplitAtCommas(cfacts.Lex(text).Tokens)
	if len(parts) > 3 {
		return all, b.Errorf("%s %q: want at most three sizes", flag, text)
	}
	for i, part := range parts {
		var err error
		if all[i], err = launchSize(b, flag, cfacts.Join(part)); err != nil {
			return all, err
		}
	}
	return all, nil
}

// checkLaunchable refuses a grid or block that CUDA can launch for no sizes at all: that is an error in the
// flag, not in the kernel. One that is impossible only for some sizes is judged.
func checkLaunchable(b *binding.Binding, flag, asked string, all [3]string) error {
	threads := int64(1)
	for _, text := range all {
		value, err := largest(b, text)
		if err != nil {
			return b.Errorf("%s %q: %v", flag, asked, err)
		}
		if value < 1 {
			return b.Errorf("%s %q: %s is %d whatever the sizes are: want at least 1", flag, asked, text,
				value)
		}
		if n, err := strconv.ParseInt(text, 0, 64); err == nil { // the sizes decide over the others
			threads *= min(n, 1<<20)
		}
	}
	if flag == "--block" && threads > MaxThreads {
		return b.Errorf("%s %q: a block has %d threads at most", flag, asked, MaxThreads)
	}
	return nil
}

// largest returns the largest value of an expression of a launch over small and large sizes; an error if it
// can be evaluated for none.
func largest(b *binding.Binding, text string) (int64, error) {
	e, err := op.ParseExpression(text, func(string) bool { return true }, false)
	if err != nil {
		return 0, err
	}
	most, found := int64(0), false
	for _, size := range []int64{1, 7, 64, 4096, 1 << 20} {
		for _, step := range []int64{0, 1, -1} { // sizes may be equal, grow or fall from one to the next
			value, failed := e.Int(func(name string) (int64, bool) {
				at := slices.IndexFunc(b.Spec.Dims, func(d op.DimSpec) bool { return d.Name == name })
				return max(1, size+step*int64(at)), true
			})
			switch {
			case failed != nil:
				err = failed
			case !found || value > most:
				most, found = value, true
			}
		}
	}
	if found {
		return most, nil
	}
	return 0, err
}

// launchSize reads one expression over the operator's dims and the function's own sizes. It refuses a name
// that is a dim and a parameter for something else.
func launchSize(b *binding.Binding, flag, text string) (string, error) {
	words := cfacts.Lex(text).Tokens
	for _, t := range words {
		if a := misleading(b, t.Text); a != nil {
			return "", b.Errorf("%s %q: %s is a size of %s, and a parameter that is %s: write another name, "+
				"or a number", flag, text, t.Text, b.Spec.Name, cmp.Or(a.Target, "another number"))
		}
	}
	own, _ := translate(b, words)
	if _, err := op.ParseExpression(own, b.IsDim, false); err != nil {
		return "", b.Errorf("%s: %v; the sizes of %s are %s", flag, err, b.Spec.Name,
			strings.Join(binding.DimNames(b.Spec), ", "))
	}
	return own, nil
}

// misleading returns the parameter that has the name of a dim and does not stand for it; nil if none does.
func misleading(b *binding.Binding, dim string) *binding.Argument {
	i := slices.IndexFunc(b.Args, func(a binding.Argument) bool {
		return a.Name == dim && !a.IsTensor() && !slices.Contains(binding.DimsOf(a.Target), dim)
	})
	if i < 0 || !b.IsDim(dim) {
		return nil
	}
	return &b.Args[i]
}

// InWords writes an expression over dims in names that are not misleading: those of parameters, if need be.
func InWords(b *binding.Binding, text string) string {
	for _, a := range b.Args {
		if a.Role == binding.Size && misleading(b, a.Target) != nil && !b.IsDim(a.Name) {
			text = regexp.MustCompile(`\b`+a.Target+`\b`).ReplaceAllString(text, a.Name)
		}
	}
	return text
}

// translate replaces a function's own sizes by what they stand for; ok is false where a word is neither that
// nor a number.
func translate(b *binding.Binding, tokens []cfacts.Token) (text string, ok bool) {
	var words []cfacts.Token
	ok = true
	for _, t := range tokens {
		if !t.IsName() {
			words = append(words, t)
			continue
		}
		i := slices.IndexFunc(b.Args,
			func(a binding.Argument) bool { return a.Name == t.Text && a.Role == binding.Size })
		switch {
		case i >= 0:
			target := b.Args[i].Target
			if strings.Contains(target, "=") {
				target = binding.DimsOf(target)[0]
			} else if strings.Contains(target, "*") {
				target = "(" + target + ")"
			}
			words = append(words, cfacts.Token{Text: target, Line: t.Line})
		case slices.Contains([]string{"int", "long", "size_t", "int64_t"}, t.Text):
		default:
			ok = ok && b.IsDim(t.Text)
			words = append(words, t)
		}
	}
	return cfacts.Join(words), ok && len(words) > 0
}

// rowsAtOnce returns the number of rows of a square tile that a block has threads for: the step of a loop
// over the tile, as in tile[threadIdx.y + j] with j += BLOCK_ROWS, else all.
func rowsAtOnce(k binding.Body, side int) int {
	for i := 0; i+4 < len(k.Tokens); i++ {
		if k.Tokens[i].Text != "threadIdx" || k.Tokens[i+2].Text != "y" || k.Tokens[i+3].Text != "+" {
			continue
		}
		step := k.Tokens[i+4].Text
		for j := 0; j+2 < len(k.Tokens); j++ {
			if k.Tokens[j].Text != step || k.Tokens[j+1].Text != "+=" {
				continue
			}
			if n, ok := number(k, k.Tokens[j+2].Text); ok && n > 0 && side%n == 0 {
				return n
			}
		}
	}
	return side
}

// block proposes a block: the kernel's __launch_bounds__, the sides of its shared tiles, or a constant named
// after it. said is false if the kernel depends on its block and gives none of these.
func block(k binding.Body) (sizes [3]string, said bool) {
	of := func(x, y, z int) [3]string { return [3]string{strconv.Itoa(x), strconv.Itoa(y), strconv.Itoa(z)} }
	second, third := uses(k, k.Tokens, "threadIdx", "y"), uses(k, k.Tokens, "threadIdx", "z")
	any := uses(k, k.Tokens, "blockDim", "x") && (!second || uses(k, k.Tokens, "blockDim", "y")) ||
		!second && firstThreadAlone(k)
	if third {
		return of(8, 8, 8), any
	}
	if n, ok := number(k, k.B.Function.LaunchBounds); ok && !second {
		return of(n, 1, 1), true
	}
	if sides := tile(k); len(sides) > 0 {
		switch {
		case second && len(sides) == 2 && sides[0]*sides[0] <= MaxThreads:
			return of(sides[0], rowsAtOnce(k, sides[0]), 1), true
		case !second && len(sides) == 1 && sides[0] >= 64 && sides[0] <= MaxThreads:
			return of(sides[0], 1, 1), true
		}
	}
	if n := blockConstant(k); n > 0 {
		if second && n*n <= MaxThreads {
			return of(n, n, 1), true
		} else if !second && n <= MaxThreads {
			return of(n, 1, 1), true
		}
	}
	if second {
		return of(16, 16, 1), any
	}
	place := asksGroup(k, "thread_rank", "meta_group_rank")
	switch size := asksGroup(k, "meta_group_size", "num_threads", "size"); {
	case place && size: // any block of whole warps will do
		return of(BlockThreads, 1, 1), true
	case place:
		return of(BlockThreads, 1, 1), uses(k, k.Tokens, "blockDim", "x")
	case !uses(k, k.Tokens, "threadIdx", "x"):
		return of(1, 1, 1), true
	}
	return of(BlockThreads, 1, 1), any
}

// asksGroup reports whether a kernel calls one of these methods of an object, as it asks a cooperative group
// for its size or its thread's rank: group.size().
func asksGroup(k binding.Body, names ...string) bool {
	for i := 1; i+1 < len(k.Tokens); i++ {
		if slices.Contains(names, k.Tokens[i].Text) && k.Tokens[i+1].Text == "(" &&
			(k.Tokens[i-1].Text == "." || k.Tokens[i-1].Text == "->") {
			return true
		}
	}
	return false
}

// tile returns the sides of the first shared array whose sides are numbers.
func tile(k binding.Body) []int {
	for i, t := range k.Tokens {
		if t.Text != "__shared__" || i > 0 && k.Tokens[i-1].Text == "extern" {
			continue
		}
		var sides []int
		for j := i; j+2 < len(k.Tokens) && k.Tokens[j].Text != ";"; j++ {
			if k.Tokens[j].Text == "[" {
				n, ok := number(k, k.Tokens[j+1].Text)
				if !ok {
					return nil
				}
				sides = append(sides, n)
			}
		}
		if len(sides) > 0 {
			return sides
		}
	}
	return nil
}

// firstThreadAlone reports whether threadIdx.x is only compared to 0: "if (threadIdx.x) return;".
func firstThreadAlone(k binding.Body) bool {
	for i := 0; i+3 < len(k.Tokens); i++ {
		if k.Tokens[i].Text == "threadIdx" && k.Tokens[i+2].Text == "x" &&
			!slices.Contains([]string{")", "==", "!="}, k.Tokens[i+3].Text) {
			return false
		}
	}
	return true
}

// blockConstant returns the value of a constant that the kernel uses and that is named after a block of
// threads; 0 if there is none.
func blockConstant(k binding.Body) int {
	for _, t := range k.Tokens {
		name := strings.ToLower(t.Text)
		for _, word := range []string{"block", "threads", "tpb", "tile", "bdim"} {
			if n, ok := number(k, t.Text); ok && t.IsName() && strings.Contains(name, word) && n > 0 {
				return n
			}
		}
	}
	return 0
}
