package declared

import (
	"slices"
	"strconv"
	"strings"

	"triad/internal/declaration"
	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/match"
	"triad/internal/ownfile/params"
	"triad/internal/ownfile/pyfacts"
)

// Keys of a line that stand for no tensor, size or attribute: what flags of the same names say, and how the
// tensors of a Python function lie.
const (
	KeyGrid     = "grid"
	KeyBlock    = "block"
	KeyShared   = "shared"
	KeyDType    = "dtype"
	keyTemplate = "template" // the arguments of a template, as --add FILE:kernel<float,256> says them
	keyPass     = "pass"
	KeyWithout  = "without" // sizes of 1 that its tensors do not have
	keyTensors  = "tensors" // flat or square
)

var lineKeys = []string{KeyGrid, KeyBlock, KeyShared, KeyDType, keyTemplate, keyPass, KeyWithout, keyTensors}

const tensorsFlat, tensorsSquare = "flat", "square"

// TakeLines gives each function the lines above it. An indented line in a Python file, such as one above a
// method, belongs to the enclosing definition.
func TakeLines(f *cfacts.File, text, sign string) {
	if f.BadLine != nil {
		return
	}
	lines, err := declaration.Find(text, sign)
	if f.BadLine = err; err != nil {
		return
	}
	for _, l := range lines {
		var of *cfacts.Function
		for i := range f.Functions {
			fn := &f.Functions[i]
			within := sign == binding.PythonSign && l.Indented
			before := of == nil || within && fn.Line > of.Line || !within && fn.Line < of.Line
			if within == (fn.Line < l.At.Line) && before {
				of = fn
			}
		}
		if of == nil {
			f.BadLine = l.At.Errorf("no function that can be judged follows this line: put it above one")
			return
		}
		heads := append(binding.EachOf(f.Helpers, func(fn cfacts.Function) pyfacts.Head {
			return pyfacts.Head{Name: fn.Name, Line: fn.Line}
		}), f.Python.Heads...)
		for _, h := range heads {
			if l.At.Line < h.Line && h.Line < of.Line {
				f.BadLine = l.At.Errorf("the function below this line is %s, which cannot be judged: put it "+
					"above another one", h.Name)
				return
			}
		}
		of.Declared = append(of.Declared, l)
	}
}

// CheckLines refuses lines of unknown operators, and two lines that say the same.
func CheckLines(f *cfacts.File, operators []string) error {
	if f.BadLine != nil {
		return f.BadLine
	}
	for _, fn := range f.Functions {
		seen := map[string]int{}
		for _, l := range fn.Declared {
			if len(operators) > 0 && !slices.Contains(operators, l.Operator) {
				return l.At.Errorf("%q is no operator: want one of %s", l.Operator,
					strings.Join(operators, ", "))
			}
			pass := passOf(l)
			if !slices.Contains([]string{"", op.Forward.String(), op.Backward.String()}, pass) {
				return l.At.Errorf("found pass=%s, want forward or backward", pass)
			}
			what := l.Operator + " " + pass
			if first := seen[what]; first > 0 {
				return l.At.Errorf("line %d says already that %s is %s: leave one of both", first, fn.Name,
					l.Operator)
			}
			seen[what] = l.At.Line
		}
	}
	return nil
}

// passOf returns the pass that a line names; "" for none.
func passOf(l declaration.Line) string {
	for _, w := range l.Words {
		if w.Key == keyPass {
			return w.Value
		}
	}
	return ""
}

// Line returns the file's declaration of a function as a pass of an operator.
func Line(fn *cfacts.Function, operator string, pass op.Pass) (declaration.Line, bool) {
	for _, l := range fn.Declared {
		if named := passOf(l); l.Operator == operator && (named == "" || named == pass.String()) {
			return l, true
		}
	}
	return declaration.Line{}, false
}

// Saying returns the functions that the file declares as a pass of the requested operator.
func Saying(f *cfacts.File, r binding.Request, pass op.Pass) (list []cfacts.Function) {
	for _, fn := range f.Functions {
		l, there := Line(&fn, r.Operator, pass)
		byName := r.Pass == pass || match.IsBackward(fn.Name+" "+fn.BoundName) == (pass == op.Backward)
		if there && Names(r, fn) && (passOf(l) != "" || byName) {
			list = append(list, fn)
		}
	}
	return list
}

// Names reports whether a request is for a function by name, or for none by name.
func Names(r binding.Request, fn cfacts.Function) bool {
	return r.Function == "" || r.Function == fn.Name || strings.HasSuffix(fn.Name, "::"+r.Function)
}

// Declares reports whether the file has a line of an operator.
func Declares(f *cfacts.File, operator string) bool {
	return slices.ContainsFunc(f.Functions, func(fn cfacts.Function) bool {
		return slices.ContainsFunc(fn.Declared,
			func(l declaration.Line) bool { return l.Operator == operator })
	})
}

// SaysOther reports whether the file declares a function as another operator than the requested one.
func SaysOther(r binding.Request, fn cfacts.Function) bool {
	return len(fn.Declared) > 0 && !slices.ContainsFunc(fn.Declared, func(l declaration.Line) bool {
		return l.Operator == r.Operator
	})
}

// NotTaken begins the note on functions that are left out because the file declares them as something else.
const NotTaken = "not taken: "

// StatedBy returns the options with those of the line above a function. The user's flags take precedence. The
// error is a *declaration.Error.
func StatedBy(o binding.Options, fn cfacts.Function, spec *op.Spec, pass op.Pass) (binding.Options, error) {
	line, there := Line(&fn, spec.Name, pass)
	if !there {
		return o, nil
	}
	b := &binding.Binding{Spec: spec, Pass: pass, Function: fn}
	b.InputSpecs, b.OutputSpecs = spec.Tensors(pass)
	r := lineReader{Binding: b, into: binding.Options{Map: map[string]string{}}, said: &binding.Said{
		Line: line, Dims: map[string]int64{}, Attrs: map[string]string{}, Numbers: map[string]string{},
		Factors: map[string]string{}, Over: map[string]string{},
	}}
	for _, w := range line.Words {
		if err := r.take(w); err != nil {
			return o, err
		}
	}
	flags, from := o, r.into
	from.Attrs, from.Dims = r.said.Attrs, r.said.Dims
	o = o.With(binding.Alternative{Options: from}).With(binding.Alternative{Options: flags})
	if len(o.DTypes) == 0 {
		o.DTypes, o.Only = from.DTypes, from.DTypes
	}
	if len(o.Arguments) == 0 {
		o.Arguments = from.Arguments
	}
	o.Said = r.said
	return o, nil
}

// lineReader reads the words of a line.
type lineReader struct {
	*binding.Binding
	into binding.Options
	said *binding.Said
}

func (r *lineReader) take(w declaration.Word) error {
	into := &r.into
	list := func() []string {
		return binding.EachOf(strings.Split(strings.Trim(w.Value, "()"), ","), strings.TrimSpace)
	}
	once := map[string]*string{KeyGrid: &into.Grid, KeyBlock: &into.Block, KeyShared: &into.Shared}[w.Key]
	switch {
	case w.Value == declaration.Open || w.Key == declaration.Open:
		return w.At.Errorf("%s=%s is open: write what is meant in the place of %s", w.Key, w.Value,
			declaration.Open)
	case once != nil && *once != "":
		return w.At.Errorf("%s is said twice", w.Key)
	case once != nil:
		*once = w.Value
	case w.Key == KeyDType:
		into.DTypes = list()
		return r.among(w, into.DTypes, r.Spec.PassDTypes(r.Pass))
	case w.Key == keyTemplate:
		into.Arguments = list()
	case w.Key == keyPass: // checkLines has read it
	case w.Key == KeyWithout:
		into.Without = list()
		return r.among(w, into.Without, binding.DimNames(r.Spec))
	case w.Key == keyTensors:
		into.Flat, into.Square = w.Value == tensorsFlat, w.Value == tensorsSquare
		return r.among(w, list(), []string{tensorsFlat, tensorsSquare})
	default:
		return r.takeTarget(w)
	}
	return nil
}

// among refuses a value that is none of those that a key may have.
func (r *lineReader) among(w declaration.Word, values, wanted []string) error {
	for _, value := range values {
		if !slices.Contains(wanted, value) {
			return w.ValueAt.Errorf("found %s=%s, want one of %s", w.Key, value, strings.Join(wanted, ", "))
		}
	}
	return nil
}

// takeTarget reads what a parameter stands for, or the value of a size or an attribute that has none.
func (r *lineReader) takeTarget(w declaration.Word) error {
	if !slices.ContainsFunc(r.Targets(), binding.SameTarget(w.Key)) && !params.KnownWord(r.Binding, w.Key) {
		return w.At.Errorf("%s has no %q: want one of %s, or of %s", r.Spec.Name, w.Key,
			strings.Join(append(r.Targets(), lineKeys...), ", "),
			strings.Join(params.AdapterWords(r.Binding), ", "))
	}
	attribute := slices.IndexFunc(r.Spec.Attributes, func(a op.AttributeSpec) bool { return a.Name == w.Key })
	number := slices.ContainsFunc(r.Function.Template, func(t cfacts.TemplateParam) bool {
		return !t.Type && t.Name == w.Value
	})
	parts := strings.FieldsFunc(w.Value, func(c rune) bool { return c == '*' || c == ' ' })
	switch n, err := strconv.ParseInt(w.Value, 10, 64); {
	case len(parts) > 1 && r.IsDim(w.Key):
		for _, name := range parts {
			r.said.Factors[name] = w.Key
		}
		return r.among(w, parts, binding.ParameterNames(&r.Function))
	case number && params.IsNumber(w.Key):
		r.said.Numbers[w.Value] = w.Key
	case r.Function.FactsOf(w.Value).Tuned:
		return w.At.Errorf("%s is chosen by the decorators of %s, and no line can give it: write a function "+
			"that launches the kernel", w.Value, r.Function.Name)
	case slices.Contains(binding.ParameterNames(&r.Function), w.Value):
		return r.takeParameter(w)
	case err == nil && n > 0 && r.IsDim(w.Key):
		r.said.Dims[w.Key] = n
	case attribute >= 0:
		r.said.Attrs[w.Key] = w.Value
		return r.among(w, []string{w.Value}, attributeValues(r.Spec.Attributes[attribute], w.Value))
	case r.IsDim(w.Key):
		return w.ValueAt.Errorf("found %s=%s, want a number or a parameter of %s: %s", w.Key, w.Value,
			r.Function.Name, strings.Join(binding.ParameterNames(&r.Function), ", "))
	default:
		return w.ValueAt.Errorf("%s has no parameter %q: it has %s", r.Function.Name, w.Value,
			strings.Join(binding.ParameterNames(&r.Function), ", "))
	}
	return nil
}

// takeParameter notes what a parameter stands for. One may be an input and the output in its place.
func (r *lineReader) takeParameter(w declaration.Word) error {
	before, twice := r.into.Map[w.Value]
	input := func(name string) bool { return slices.Contains(binding.NamesOf(r.InputSpecs), name) }
	output := func(name string) bool { return slices.Contains(binding.NamesOf(r.OutputSpecs), name) }
	if r.Function.Kind == cfacts.Python { // its lines say that it writes an input
		input, output = output, input
	}
	for _, equal := range []string{before + "=" + w.Key, w.Key + "=" + before} { // rows=n, cols=n
		if twice && slices.ContainsFunc(r.Spec.SizesBeside(), binding.SameTarget(equal)) {
			r.into.Map[w.Value] = equal
			return nil
		}
	}
	switch {
	case twice && input(w.Key) && output(before):
		r.said.Over[w.Value] = w.Key
	case !twice, input(before) && output(w.Key):
		r.into.Map[w.Value], r.said.Over[w.Value] = w.Key, before
	default:
		return w.ValueAt.Errorf("%s is %s and %s: want one of both", w.Value, before, w.Key)
	}
	return nil
}

// attributeValues returns the values that an attribute may have; for a number the given one.
func attributeValues(a op.AttributeSpec, value string) []string {
	if choices := a.Choices(); choices != nil {
		return choices
	} else if _, err := strconv.ParseFloat(value, 64); err == nil {
		return []string{value}
	}
	return []string{"a number", "a parameter"}
}
