package extents

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/layout"
	"triad/internal/ownfile/match"
	"triad/internal/ownfile/pyfacts"
)

// GoesWithout reports whether a PyTorch function that takes its sizes as numbers takes none for a size whose
// default is 1, such as a batch: its tensors then lack that size.
func GoesWithout(b *binding.Binding, d op.DimSpec) bool {
	return b.Function.Kind == cfacts.Python && d.Default == "1" && b.TakesSizes() && !b.GivesSize(d.Name)
}

// Hides reports whether tensors are passed without a size, which is 1.
func Hides(b *binding.Binding, dim string) bool {
	return b.Implied[dim] == 1 || slices.ContainsFunc(b.Spec.Dims, func(d op.DimSpec) bool {
		return d.Name == dim && GoesWithout(b, d)
	})
}

// HasFactors reports whether a function is given two factors of a size, or matrices where an operator has
// vectors and the order of elements is irrelevant: its tensors then have both as their sizes. A single row
// would hide a wrong stride.
func HasFactors(b *binding.Binding, dim string) bool {
	shape := Shape(b, b.InputSpecs[0])
	result, _, _ := strings.Cut(b.Spec.Formula, "=")
	if noOrder := len(b.Spec.Dims) == 1 && !strings.Contains(result, "["); noOrder && b.Options.Leading > 0 &&
		len(shape) == 1 && shape[0] == any(dim) {
		return true
	}
	return slices.ContainsFunc(b.Args,
		func(a binding.Argument) bool { return a.Share > 0 && a.Target == dim })
}

// mostFactor is the largest of two factors at which a function is judged: an interpreter takes long to run a
// program for each of more rows.
const mostFactor = 1024

// WhereFactorsAre returns the condition under which a size has two factors that a function is given.
func WhereFactorsAre(b *binding.Binding) []binding.Condition {
	for _, d := range b.Spec.Dims {
		if HasFactors(b, d.Name) {
			return []binding.Condition{{
				Code: fmt.Sprintf("factor(%s, 2) <= %d", binding.PythonName(d.Name), mostFactor),
				Sentence: fmt.Sprintf(
					"its two sizes are factors of %s: it is judged where both are at most %d", d.Name,
					mostFactor),
			}}
		}
	}
	return nil
}

// PythonSquares returns the sizes whose square occurs in the lines of a Python function: "N * N", "N ** 2".
func PythonSquares(fn *cfacts.Function) map[string]bool {
	all := map[string]bool{}
	for _, p := range fn.Parsed().Params {
		all[p.Name] = all[p.Name] || p.Squared
	}
	return all
}

// alongAxis lists what takes an axis.
var alongAxis = strings.Fields("shape size stride sum max amax mean softmax log_softmax cumsum argmax " +
	"flip transpose")

// isAxis reports whether a name is a common one of an axis.
func isAxis(name string) bool {
	return strings.EqualFold(name, "dim") || strings.EqualFold(name, "axis")
}

// NamesAxis reports whether a parameter of a Python function selects the axis that it works along: it has
// such a name, and the lines pass it on as an axis, "x.sum(dim=dim)", "x.shape[axis]".
func NamesAxis(b *binding.Binding, p cfacts.Param) bool {
	return b.Function.Kind == cfacts.Python && b.Function.Form != binding.KernelForm &&
		p.Place == cfacts.InCall &&
		(p.IsInteger() || p.Untyped) && b.Options.Map[p.Name] == "" && isAxis(p.Name) &&
		slices.ContainsFunc(b.Function.FactsOf(p.Name).Handed, func(h pyfacts.Handed) bool {
			return isAxis(h.Name) || slices.Contains(alongAxis, h.Call[strings.LastIndex(h.Call, ".")+1:])
		})
}

// TakeAxis passes the last size as the axis that a function works along, unless the file gives a default.
func TakeAxis(b *binding.Binding, a *binding.Argument) bool {
	if a.Optional || !NamesAxis(b, a.Param) {
		return false
	}
	a.Role, a.Target, a.Number, a.Stated = binding.Constant, "-1, the last size", "-1", true
	return true
}

// StrideOfTensor returns the Python code of the stride that a parameter stands for: of the tensor that its
// name denotes, else of the first input. Strides are in the order of the sizes. If there are fewer strides
// than sizes they are those of the last ones, and a single one is the row stride.
func StrideOfTensor(b *binding.Binding, a binding.Argument) (code string, err error) {
	at := strideName(b, a.Param)
	count, index := 0, 0
	for _, o := range b.Args {
		if o.Place == cfacts.InStride && strideName(b, o.Param) == at {
			if o.Name == a.Name {
				index = count
			}
			count++
		}
	}
	name, tensor := "in_"+b.InputSpecs[0].Name, b.InputSpecs[0]
	if at >= 0 {
		name = PythonValue(b, b.Args[at])
		if b.Args[at].IsTensor() {
			tensor = b.Tensor(b.Args[at])
		}
	}
	tensor.Shape = Shape(b, tensor)
	rank := strings.Count(PythonShape(b, tensor, true), ",")
	switch {
	case count > rank:
		return "", b.Errorf("it has %d strides for %s, which has %d sizes here: add a function "+
			"that launches the kernel", count, tensor.Name, rank)
	case count == 1 && rank > 1:
		index = rank - 2
	default:
		index += rank - count
	}
	return fmt.Sprintf("%s.stride(%d)", name, index), nil
}

// strideName returns the parameter whose tensor the name of a stride denotes, -1 for none: stride_ak denotes
// the tensor a.
func strideName(b *binding.Binding, p cfacts.Param) (at int) {
	word := strings.Trim(strings.ReplaceAll(strings.ReplaceAll(match.Snake(p.Name), "stride", ""), "__", "_"),
		"_")
	at, longest := -1, 0
	for i, o := range b.Args {
		plain := strings.TrimSuffix(strings.TrimSuffix(match.Snake(o.Name), "_ptr"), "_pointer")
		if o.Pointer && strings.HasPrefix(word, plain) && len(plain) > longest {
			at, longest = i, len(plain)
		}
	}
	return at
}

// MayBeSquare reports whether a function of tensors with sizes may be meant for squares only: it creates its
// result like an input whose sizes differ from the output's, and takes no sizes.
func MayBeSquare(b *binding.Binding) bool {
	if b.Function.Kind != cfacts.Python && !b.Function.ReturnsTensors || b.Pass != op.Forward ||
		b.Options.Square || b.TakesSizes() || len(b.Required()) != 1 || len(SquareSizes(b)) < 2 {
		return false
	}
	gives := Shape(b, b.OutputSpecs[b.Required()[0]])
	return slices.ContainsFunc(b.Args, func(a binding.Argument) bool {
		like := slices.Contains(b.Function.Parsed().Like, a.Name) ||
			cfacts.HasTexts(b.Function.Body, "empty_like", "(", a.Name) ||
			cfacts.HasTexts(b.Function.Body, "zeros_like", "(", a.Name)
		return a.Role == binding.Input && like && !slices.Equal(Shape(b, b.InputSpecs[a.Index]), gives)
	})
}

// AsSquares returns the interpretations with square matrices: with all their sizes, and without those that
// are 1.
func AsSquares(b *binding.Binding) (all []binding.Alternative) {
	if !MayBeSquare(b) {
		return nil
	}
	for _, sizes := range append(PerhapsWithout(b), nil) {
		all = append(all, binding.Alternative{
			Flags: "square matrices", Options: binding.Options{Square: true, Without: sizes},
		})
	}
	return all
}

// SquareSizes returns the sizes of the tensors, other than fixed ones, which are equal in a square.
func SquareSizes(b *binding.Binding) (names []string) {
	for _, d := range b.Spec.Dims {
		_, fixed := b.Fixed(d.Name)
		if !fixed && d.Default == "" && isShown(b, d.Name) {
			names = append(names, d.Name)
		}
	}
	return names
}

// isShown reports whether a size is one of a tensor that the operator always has.
func isShown(b *binding.Binding, dim string) bool {
	return slices.ContainsFunc(slices.Concat(b.InputSpecs, b.OutputSpecs), func(t op.TensorSpec) bool {
		return !t.Optional && !b.LeftOut(t) && slices.Contains(Shape(b, t), any(dim))
	})
}

// AsksDepth is the number of functions of a file through which a tensor is followed.
const AsksDepth = 3

// PythonAsks reports whether the lines of a Python function may learn the sizes of a tensor that it takes:
// they query them, or pass the tensor to something other than a kernel launch. Functions of the file that
// receive it are followed.
func PythonAsks(b *binding.Binding, fn cfacts.Function, name string, depth int) bool {
	said := fn.FactsOf(name)
	for _, h := range said.Handed {
		other, param := handedTo(b, fn, h)
		if other == nil || depth == 0 || PythonAsks(b, *other, param, depth-1) {
			return true
		}
	}
	return said.Asks || !said.Used && len(said.Handed) == 0
}

// handedTo returns the function of the file that another one calls, with the parameter that receives an
// argument, or nil if there is none.
func handedTo(b *binding.Binding, fn cfacts.Function, h pyfacts.Handed) (
	other *cfacts.Function, param string,
) {
	for i := range b.Others {
		o := &b.Others[i]
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

// ShowsPairs reports whether an interpretation is the one with the switch for adjacent pairs, and the lines
// of a Python function or its kernels do take elements in pairs.
func ShowsPairs(b *binding.Binding, other binding.Alternative) bool {
	name := b.Spec.Own.Pairs
	lines := b.Function.Parsed().Asking + b.Function.Kernels
	return name != "" && other.Attribute == name && other.Options.Attrs[name] == "true" &&
		b.Function.Kind == cfacts.Python && (everySecond.MatchString(lines) ||
		doubled.MatchString(b.Function.Kernels) && oneBehind.MatchString(b.Function.Kernels))
}

// CheckTables refuses a Python function that applies a table's function to its table: a parameter cos is the
// angle if the lines have torch.cos(cos).
func CheckTables(b *binding.Binding) error {
	for _, a := range b.Args {
		if b.Function.Kind != cfacts.Python || a.Role != binding.Input ||
			!slices.Contains(b.Spec.Own.Wide, a.Target) {
			continue
		}
		if slices.ContainsFunc(b.Function.FactsOf(a.Name).Handed, func(h pyfacts.Handed) bool {
			return strings.HasSuffix(h.Call, "."+a.Target)
		}) {
			return b.Errorf("%[1]s is no table of %[2]s: its lines take the %[2]s of it, so it wants the "+
				"angles. Write a function that takes %[3]s, and judge that: --add FILE:FUNCTION", a.Name,
				a.Target, binding.TensorNames(b.InputSpecs))
		}
	}
	return nil
}

// WritesOver takes an input of a Python function that returns nothing and has no parameter for a result for
// the output in its place: the input that the spec pairs with it, else the first with the output's sizes and
// dtype that the function's lines change in place. The parameter gets the output, into which the input is
// copied before each call.
func WritesOver(b *binding.Binding) {
	if b.Function.Kind != cfacts.Python || b.Function.Form != binding.PlainForm || b.Pass != op.Forward ||
		b.Fills() || b.Each {
		return
	}
	over := map[int]int{} // by argument, the output
	for _, i := range b.Required() {
		if b.LeftOut(b.OutputSpecs[i]) {
			continue
		}
		at := changedLike(b, b.OutputSpecs[i], over)
		if at < 0 {
			return
		}
		over[at] = i
	}
	if b.Function.Parsed().Gives && !returnsWhatItChanges(b, over) {
		return
	}
	for at, i := range over {
		a := &b.Args[at]
		a.Over = a.Target
		a.Role, a.Target, a.Index = binding.Output, b.OutputSpecs[i].Name, i
	}
}

// returnsWhatItChanges reports whether a function that changes arguments in place returns exactly these, each
// the one that the spec pairs with the output, and never another tensor of the name: a copy that it makes of
// an input that is not contiguous, say, occurs in some calls only.
func returnsWhatItChanges(b *binding.Binding, over map[int]int) bool {
	order := slices.SortedFunc(maps.Keys(over), func(x, y int) int { return over[x] - over[y] })
	var names []string
	for _, at := range order {
		a := b.Args[at]
		if b.Spec.Own.InPlace[b.OutputSpecs[over[at]].Name] != a.Target ||
			b.Function.FactsOf(a.Name).Renamed {
			return false
		}
		names = append(names, a.Name)
	}
	return len(names) > 0 && slices.Equal(names, b.Function.Parsed().GivesBack)
}

// changedLike returns the argument in whose place an output may be written, or -1 if there is none.
func changedLike(b *binding.Binding, out op.TensorSpec, taken map[int]int) int {
	like := func(a binding.Argument, pairs bool) bool {
		paired := b.Spec.Own.InPlace[out.Name] == a.Target
		if a.Role != binding.Input || a.Adapter != layout.AsItLies || a.Place != cfacts.InCall ||
			pairs != paired {
			return false
		}
		in := b.InputSpecs[a.Index]
		return in.DType == out.DType && fmt.Sprint(in.Shape) == fmt.Sprint(out.Shape) &&
			b.Function.FactsOf(a.Name).Changed
	}
	for _, pairs := range []bool{true, false} {
		for i, a := range b.Args {
			if _, has := taken[i]; !has && like(a, pairs) {
				return i
			}
		}
	}
	return -1
}
