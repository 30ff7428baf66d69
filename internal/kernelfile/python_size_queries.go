package kernelfile

import (
	"regexp"
	"slices"
	"strings"

	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/pyfacts"
)

// asksDepth is the number of functions of a file through which a tensor is followed.
const asksDepth = 3

// pythonAsks reports whether the lines of a Python function may learn the sizes of a tensor that it takes:
// they query them, or pass the tensor to something other than a kernel launch. Functions of the file that
// receive it are followed.
func (b *Binding) pythonAsks(fn cfacts.Function, name string, depth int) bool {
	said := fn.FactsOf(name)
	for _, h := range said.Handed {
		other, param := b.handedTo(fn, h)
		if other == nil || depth == 0 || b.pythonAsks(*other, param, depth-1) {
			return true
		}
	}
	return said.Asks || !said.Used && len(said.Handed) == 0
}

// handedTo returns the function of the file that another one calls, with the parameter that receives an
// argument, or nil if there is none.
func (b *Binding) handedTo(fn cfacts.Function, h pyfacts.Handed) (other *cfacts.Function, param string) {
	for i := range b.others {
		o := &b.others[i]
		if o.Call != h.Call || o.Name == fn.Name {
			continue
		}
		if h.Index < 0 {
			return o, h.Name
		}
		if h.Index < len(o.Params) {
			return o, o.Params[h.Index].Name
		}
	}
	return nil, ""
}

var (
	everySecond = regexp.MustCompile(`\[[^\]\n]*\b[01]?[ \t]*::[ \t]*2[ \t]*\]`) // x[..., 1::2]
	doubled     = regexp.MustCompile(`\*[ \t]*2\b|\b2[ \t]*\*`)
	oneBehind   = regexp.MustCompile(`\+[ \t]*1\b`) // 2 * i + 1, or + 1 after a value doubled above it
)

// showsPairs reports whether an interpretation is the one with the switch for adjacent pairs, and the lines
// of a Python function or its kernels do take elements in pairs.
func (b *Binding) showsPairs(other Alternative) bool {
	name := b.Spec.Own.Pairs
	lines := b.Function.Parsed().Asking + b.Function.Kernels
	return name != "" && other.Attribute == name && other.Options.Attrs[name] == "true" &&
		b.Function.Kind == cfacts.Python && (everySecond.MatchString(lines) ||
		doubled.MatchString(b.Function.Kernels) && oneBehind.MatchString(b.Function.Kernels))
}

// checkTables refuses a Python function that applies a table's function to its table: a parameter cos is the
// angle if the lines have torch.cos(cos).
func (b *Binding) checkTables() error {
	for _, a := range b.Args {
		if b.Function.Kind != cfacts.Python || a.Role != Input ||
			!slices.Contains(b.Spec.Own.Wide, a.Target) {
			continue
		}
		if slices.ContainsFunc(b.Function.FactsOf(a.Name).Handed, func(h pyfacts.Handed) bool {
			return strings.HasSuffix(h.Call, "."+a.Target)
		}) {
			return b.errorf("%[1]s is no table of %[2]s: its lines take the %[2]s of it, so it wants the "+
				"angles. Write a function that takes %[3]s, and judge that: --add FILE:FUNCTION", a.Name,
				a.Target, tensorNames(b.inputs))
		}
	}
	return nil
}
