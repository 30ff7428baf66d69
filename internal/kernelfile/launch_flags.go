package kernelfile

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
)

// Launch is the launch of a lone kernel: expressions over the dims, three each.
type Launch struct {
	Grid, Block [3]string
	Shared      string // bytes of dynamic shared memory
	proposed    []string
	guessed     bool // the kernel's lines do not say it
}

// maxThreads is the most threads that a block may have on every GPU.
const maxThreads = 1024

func (l *Launch) String() string {
	text := fmt.Sprintf("grid (%s) and block (%s)", sizes(l.Grid), sizes(l.Block))
	if l.Shared != "0" {
		text += ", " + l.Shared + " bytes of dynamic shared memory"
	}
	if len(l.proposed) > 0 {
		text += " (proposed: say otherwise with " + strings.Join(l.proposed, " ") + ")"
	}
	return text
}

// sizes lists the sizes of a grid or block without trailing ones.
func sizes(s [3]string) string {
	n := 3
	for n > 1 && s[n-1] == "1" {
		n--
	}
	return strings.Join(s[:n], ", ")
}

// uses reports whether an expression of the launch names a dim.
func (l *Launch) uses(dim string) bool {
	return slices.ContainsFunc(slices.Concat(l.Grid[:], l.Block[:], []string{l.Shared}),
		func(text string) bool { return cfacts.HasTexts(cfacts.Lex(text).Tokens, dim) })
}

func product(s [3]string) string {
	words := those(s[:], func(x string) bool { return x != "1" })
	return cmp.Or(strings.Join(words, " * "), "1")
}

// launchSizes reads up to three expressions.
func (b *Binding) launchSizes(flag, text string) ([3]string, error) {
	all := [3]string{"1", "1", "1"}
	parts := cfacts.SplitAtCommas(cfacts.Lex(text).Tokens)
	if len(parts) > 3 {
		return all, b.errorf("%s %q: want at most three sizes", flag, text)
	}
	for i, part := range parts {
		var err error
		if all[i], err = b.launchSize(flag, cfacts.Join(part)); err != nil {
			return all, err
		}
	}
	return all, nil
}

// checkLaunchable refuses a grid or block that CUDA can launch for no sizes at all: that is an error in the
// flag, not in the kernel. One that is impossible only for some sizes is judged.
func (b *Binding) checkLaunchable(flag, asked string, all [3]string) error {
	threads := int64(1)
	for _, text := range all {
		value, err := b.largest(text)
		if err != nil {
			return b.errorf("%s %q: %v", flag, asked, err)
		}
		if value < 1 {
			return b.errorf("%s %q: %s is %d whatever the sizes are: want at least 1", flag, asked, text,
				value)
		}
		if n, err := strconv.ParseInt(text, 0, 64); err == nil { // the sizes decide over the others
			threads *= min(n, 1<<20)
		}
	}
	if flag == "--block" && threads > maxThreads {
		return b.errorf("%s %q: a block has %d threads at most", flag, asked, maxThreads)
	}
	return nil
}

// largest returns the largest value of an expression of a launch over small and large sizes; an error if it
// can be evaluated for none.
func (b *Binding) largest(text string) (int64, error) {
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
func (b *Binding) launchSize(flag, text string) (string, error) {
	words := cfacts.Lex(text).Tokens
	for _, t := range words {
		if a := b.misleading(t.Text); a != nil {
			return "", b.errorf("%s %q: %s is a size of %s, and a parameter that is %s: write another name, "+
				"or a number", flag, text, t.Text, b.Spec.Name, cmp.Or(a.Target, "another number"))
		}
	}
	own, _ := b.translate(words)
	if _, err := op.ParseExpression(own, b.isDim, false); err != nil {
		return "", b.errorf("%s: %v; the sizes of %s are %s", flag, err, b.Spec.Name,
			strings.Join(dimNames(b.Spec), ", "))
	}
	return own, nil
}

// misleading returns the parameter that has the name of a dim and does not stand for it; nil if none does.
func (b *Binding) misleading(dim string) *Argument {
	i := slices.IndexFunc(b.Args, func(a Argument) bool {
		return a.Name == dim && !a.isTensor() && !slices.Contains(dimsOf(a.Target), dim)
	})
	if i < 0 || !b.isDim(dim) {
		return nil
	}
	return &b.Args[i]
}

// inWords writes an expression over dims in names that are not misleading: those of parameters, if need be.
func (b *Binding) inWords(text string) string {
	for _, a := range b.Args {
		if a.Role == Size && b.misleading(a.Target) != nil && !b.isDim(a.Name) {
			text = regexp.MustCompile(`\b`+a.Target+`\b`).ReplaceAllString(text, a.Name)
		}
	}
	return text
}

// translate replaces a function's own sizes by what they stand for; ok is false where a word is neither that
// nor a number.
func (b *Binding) translate(tokens []cfacts.Token) (text string, ok bool) {
	var words []cfacts.Token
	ok = true
	for _, t := range tokens {
		if !t.IsName() {
			words = append(words, t)
			continue
		}
		i := slices.IndexFunc(b.Args, func(a Argument) bool { return a.Name == t.Text && a.Role == Size })
		switch {
		case i >= 0:
			target := b.Args[i].Target
			if strings.Contains(target, "=") {
				target = dimsOf(target)[0]
			} else if strings.Contains(target, "*") {
				target = "(" + target + ")"
			}
			words = append(words, cfacts.Token{Text: target, Line: t.Line})
		case slices.Contains([]string{"int", "long", "size_t", "int64_t"}, t.Text):
		default:
			ok = ok && b.isDim(t.Text)
			words = append(words, t)
		}
	}
	return cfacts.Join(words), ok && len(words) > 0
}

// constant returns the value of a constant that the kernel itself defines, "const int lanes = 32;"; false
// where it has none of that name with a value of one word.
func (k body) constant(name string) (string, bool) {
	for i := 0; i+2 < len(k.tokens); i++ {
		t := k.tokens
		if t[i].Text != "const" && t[i].Text != "constexpr" {
			continue
		}
		for j := i + 1; j+3 < len(t) && t[j].Text != ";"; j++ {
			if t[j].Text == name && t[j+1].Text == "=" && t[j+3].Text == ";" {
				return t[j+2].Text, true
			}
		}
	}
	return "", false
}

// rowsAtOnce returns the number of rows of a square tile that a block has threads for: the step of a loop
// over the tile, as in tile[threadIdx.y + j] with j += BLOCK_ROWS, else all.
func (k body) rowsAtOnce(side int) int {
	for i := 0; i+4 < len(k.tokens); i++ {
		if k.tokens[i].Text != "threadIdx" || k.tokens[i+2].Text != "y" || k.tokens[i+3].Text != "+" {
			continue
		}
		step := k.tokens[i+4].Text
		for j := 0; j+2 < len(k.tokens); j++ {
			if k.tokens[j].Text != step || k.tokens[j+1].Text != "+=" {
				continue
			}
			if n, ok := k.number(k.tokens[j+2].Text); ok && n > 0 && side%n == 0 {
				return n
			}
		}
	}
	return side
}

// block proposes a block: the kernel's __launch_bounds__, the sides of its shared tiles, or a constant named
// after it. said is false if the kernel depends on its block and gives none of these.
func (k body) block() (sizes [3]string, said bool) {
	of := func(x, y, z int) [3]string { return [3]string{strconv.Itoa(x), strconv.Itoa(y), strconv.Itoa(z)} }
	second, third := k.uses(k.tokens, "threadIdx", "y"), k.uses(k.tokens, "threadIdx", "z")
	any := k.uses(k.tokens, "blockDim", "x") && (!second || k.uses(k.tokens, "blockDim", "y")) ||
		!second && k.firstThreadAlone()
	if third {
		return of(8, 8, 8), any
	}
	if n, ok := k.number(k.b.Function.LaunchBounds); ok && !second {
		return of(n, 1, 1), true
	}
	if sides := k.tile(); len(sides) > 0 {
		switch {
		case second && len(sides) == 2 && sides[0]*sides[0] <= maxThreads:
			return of(sides[0], k.rowsAtOnce(sides[0]), 1), true
		case !second && len(sides) == 1 && sides[0] >= 64 && sides[0] <= maxThreads:
			return of(sides[0], 1, 1), true
		}
	}
	if n := k.blockConstant(); n > 0 {
		if second && n*n <= maxThreads {
			return of(n, n, 1), true
		} else if !second && n <= maxThreads {
			return of(n, 1, 1), true
		}
	}
	if second {
		return of(16, 16, 1), any
	}
	place := k.asksGroup("thread_rank", "meta_group_rank")
	switch size := k.asksGroup("meta_group_size", "num_threads", "size"); {
	case place && size: // any block of whole warps will do
		return of(blockThreads, 1, 1), true
	case place:
		return of(blockThreads, 1, 1), k.uses(k.tokens, "blockDim", "x")
	case !k.uses(k.tokens, "threadIdx", "x"):
		return of(1, 1, 1), true
	}
	return of(blockThreads, 1, 1), any
}

// asksGroup reports whether a kernel calls one of these methods of an object, as it asks a cooperative group
// for its size or its thread's rank: group.size().
func (k body) asksGroup(names ...string) bool {
	for i := 1; i+1 < len(k.tokens); i++ {
		if slices.Contains(names, k.tokens[i].Text) && k.tokens[i+1].Text == "(" &&
			(k.tokens[i-1].Text == "." || k.tokens[i-1].Text == "->") {
			return true
		}
	}
	return false
}

// tile returns the sides of the first shared array whose sides are numbers.
func (k body) tile() []int {
	for i, t := range k.tokens {
		if t.Text != "__shared__" || i > 0 && k.tokens[i-1].Text == "extern" {
			continue
		}
		var sides []int
		for j := i; j+2 < len(k.tokens) && k.tokens[j].Text != ";"; j++ {
			if k.tokens[j].Text == "[" {
				n, ok := k.number(k.tokens[j+1].Text)
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
func (k body) firstThreadAlone() bool {
	for i := 0; i+3 < len(k.tokens); i++ {
		if k.tokens[i].Text == "threadIdx" && k.tokens[i+2].Text == "x" &&
			!slices.Contains([]string{")", "==", "!="}, k.tokens[i+3].Text) {
			return false
		}
	}
	return true
}

// blockConstant returns the value of a constant that the kernel uses and that is named after a block of
// threads; 0 if there is none.
func (k body) blockConstant() int {
	for _, t := range k.tokens {
		name := strings.ToLower(t.Text)
		for _, word := range []string{"block", "threads", "tpb", "tile", "bdim"} {
			if n, ok := k.number(t.Text); ok && t.IsName() && strings.Contains(name, word) && n > 0 {
				return n
			}
		}
	}
	return 0
}
