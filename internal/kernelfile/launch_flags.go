package kernelfile

import (
	"cmp"
	"fmt"
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

// forOthers returns the launch of the second of two calls, in the sizes of that: heads_k for heads_q.
func (l *Launch) forOthers(each map[string]string) *Launch {
	other := *l
	change := func(text string) string {
		tokens := slices.Clone(cfacts.Lex(text).Tokens)
		for i := range tokens {
			for name, of := range each {
				if tokens[i].Text == of {
					tokens[i].Text = name
					break
				}
			}
		}
		return cfacts.Join(tokens)
	}
	for i := range 3 {
		other.Grid[i], other.Block[i] = change(l.Grid[i]), change(l.Block[i])
	}
	other.Shared = change(l.Shared)
	return &other
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

// launchSize reads one expression over the operator's dims and the function's own sizes.
func (b *Binding) launchSize(flag, text string) (string, error) {
	own, _ := b.translate(cfacts.Lex(text).Tokens)
	if _, err := op.ParseExpression(own, b.isDim, false); err != nil {
		return "", b.errorf("%s: %v; the sizes of %s are %s", flag, err, b.Spec.Name,
			strings.Join(dimNames(b.Spec), ", "))
	}
	return own, nil
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
