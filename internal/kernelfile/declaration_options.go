package kernelfile

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"triad/internal/declaration"
	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/match"
	"triad/internal/ownfile/pyfacts"
)

// Keys of a line that stand for no tensor, size or attribute: what flags of the same names say, and how the
// tensors of a Python function lie.
const (
	keyGrid     = "grid"
	keyBlock    = "block"
	keyShared   = "shared"
	keyDType    = "dtype"
	keyTemplate = "template" // the arguments of a template, as --add FILE:kernel<float,256> says them
	keyPass     = "pass"
	keyWithout  = "without" // sizes of 1 that its tensors do not have
	keyTensors  = "tensors" // flat or square
)

var lineKeys = []string{keyGrid, keyBlock, keyShared, keyDType, keyTemplate, keyPass, keyWithout, keyTensors}

const tensorsFlat, tensorsSquare = "flat", "square"

// parsed is the declaration above a function.
type said struct {
	line    declaration.Line
	dims    map[string]int64
	attrs   map[string]string
	numbers map[string]string // of the template
	factors map[string]string // parameters that are factors of a size together, and that
	over    map[string]string // parameters of two tensors, and the one in whose place the other is written
}

// takeLines gives each function the lines above it. An indented line in a Python file, such as one above a
// method, belongs to the enclosing definition.
func takeLines(f *cfacts.File, text, sign string) {
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
			within := sign == PythonSign && l.Indented
			before := of == nil || within && fn.Line > of.Line || !within && fn.Line < of.Line
			if within == (fn.Line < l.At.Line) && before {
				of = fn
			}
		}
		if of == nil {
			f.BadLine = l.At.Errorf("no function that can be judged follows this line: put it above one")
			return
		}
		heads := append(eachOf(f.Helpers, func(fn cfacts.Function) pyfacts.Head {
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

// checkLines refuses lines of unknown operators, and two lines that say the same.
func checkLines(f *cfacts.File, operators []string) error {
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

// line returns the file's declaration of a function as a pass of an operator.
func line(fn *cfacts.Function, operator string, pass op.Pass) (declaration.Line, bool) {
	for _, l := range fn.Declared {
		if named := passOf(l); l.Operator == operator && (named == "" || named == pass.String()) {
			return l, true
		}
	}
	return declaration.Line{}, false
}

// saying returns the functions that the file declares as a pass of the requested operator.
func saying(f *cfacts.File, r Request, pass op.Pass) (list []cfacts.Function) {
	for _, fn := range f.Functions {
		l, there := line(&fn, r.operator, pass)
		byName := r.Pass == pass || match.IsBackward(fn.Name+" "+fn.BoundName) == (pass == op.Backward)
		if there && r.names(fn) && (passOf(l) != "" || byName) {
			list = append(list, fn)
		}
	}
	return list
}

// names reports whether a request is for a function by name, or for none by name.
func (r Request) names(fn cfacts.Function) bool {
	return r.Function == "" || r.Function == fn.Name || strings.HasSuffix(fn.Name, "::"+r.Function)
}

// Declares reports whether the file has a line of an operator.
func Declares(f *cfacts.File, operator string) bool {
	return slices.ContainsFunc(f.Functions, func(fn cfacts.Function) bool {
		return slices.ContainsFunc(fn.Declared,
			func(l declaration.Line) bool { return l.Operator == operator })
	})
}

// Declares reports whether the text of the file has a line of an operator.
func (r Request) Declares(text string, flags []string, operator string) bool {
	return declaration.MayBeIn(text) && Declares(r.Read(text, flags), operator)
}

// saysOther reports whether the file declares a function as another operator than the requested one.
func (r Request) saysOther(fn cfacts.Function) bool {
	return len(fn.Declared) > 0 && !slices.ContainsFunc(fn.Declared, func(l declaration.Line) bool {
		return l.Operator == r.operator
	})
}

// NotTaken begins the note on functions that are left out because the file declares them as something else.
const NotTaken = "not taken: "

// ofOthers names the functions that are not taken because the file declares them as other operators, or
// declares only other functions as this one; "" for none.
func ofOthers(f *cfacts.File, r Request, passes []op.Pass) string {
	var words []string
	for _, pass := range passes {
		said := saying(f, r, pass)
		for _, fn := range fitting(f, r, pass, match.IsHelper) {
			if len(said) > 0 && len(fn.Declared) == 0 && fn.Kind == said[0].Kind {
				words = append(words, fn.Name+", which has no line")
			}
		}
	}
	for _, fn := range f.Functions {
		if r.saysOther(fn) && r.names(fn) {
			words = append(words, fmt.Sprintf("%s, of which line %d says that it is %s", fn.Name,
				fn.Declared[0].At.Line, fn.Declared[0].Operator))
		}
	}
	return strings.Join(words, "; ")
}

// statedBy returns the options with those of the line above a function. The user's flags take precedence. The
// error is a *declaration.Error.
func (o Options) statedBy(fn cfacts.Function, spec *op.Spec, pass op.Pass) (Options, error) {
	line, there := line(&fn, spec.Name, pass)
	if !there {
		return o, nil
	}
	b := &Binding{Spec: spec, Pass: pass, Function: fn}
	b.inputs, b.outputs = spec.Tensors(pass)
	r := lineReader{Binding: b, into: Options{Map: map[string]string{}}, said: &said{
		line: line, dims: map[string]int64{}, attrs: map[string]string{}, numbers: map[string]string{},
		factors: map[string]string{}, over: map[string]string{},
	}}
	for _, w := range line.Words {
		if err := r.take(w); err != nil {
			return o, err
		}
	}
	flags, from := o, r.into
	from.Attrs, from.Dims = r.said.attrs, r.said.dims
	o = o.With(Alternative{Options: from}).With(Alternative{Options: flags})
	if len(o.DTypes) == 0 {
		o.DTypes, o.Only = from.DTypes, from.DTypes
	}
	if len(o.Arguments) == 0 {
		o.Arguments = from.Arguments
	}
	o.said = r.said
	return o, nil
}

// lineReader reads the words of a line.
type lineReader struct {
	*Binding
	into Options
	said *said
}

func (r *lineReader) take(w declaration.Word) error {
	into := &r.into
	list := func() []string {
		return eachOf(strings.Split(strings.Trim(w.Value, "()"), ","), strings.TrimSpace)
	}
	once := map[string]*string{keyGrid: &into.Grid, keyBlock: &into.Block, keyShared: &into.Shared}[w.Key]
	switch {
	case w.Value == declaration.Open || w.Key == declaration.Open:
		return w.At.Errorf("%s=%s is open: write what is meant in the place of %s", w.Key, w.Value,
			declaration.Open)
	case once != nil && *once != "":
		return w.At.Errorf("%s is said twice", w.Key)
	case once != nil:
		*once = w.Value
	case w.Key == keyDType:
		into.DTypes = list()
		return r.among(w, into.DTypes, r.Spec.PassDTypes(r.Pass))
	case w.Key == keyTemplate:
		into.Arguments = list()
	case w.Key == keyPass: // checkLines has read it
	case w.Key == keyWithout:
		into.Without = list()
		return r.among(w, into.Without, dimNames(r.Spec))
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
	if !slices.ContainsFunc(r.targets(), sameTarget(w.Key)) && !r.knownWord(w.Key) {
		return w.At.Errorf("%s has no %q: want one of %s, or of %s", r.Spec.Name, w.Key,
			strings.Join(append(r.targets(), lineKeys...), ", "), strings.Join(r.adapterWords(), ", "))
	}
	attribute := slices.IndexFunc(r.Spec.Attributes, func(a op.AttributeSpec) bool { return a.Name == w.Key })
	number := slices.ContainsFunc(r.Function.Template, func(t cfacts.TemplateParam) bool {
		return !t.Type && t.Name == w.Value
	})
	parts := strings.FieldsFunc(w.Value, func(c rune) bool { return c == '*' || c == ' ' })
	switch n, err := strconv.ParseInt(w.Value, 10, 64); {
	case len(parts) > 1 && r.isDim(w.Key):
		for _, name := range parts {
			r.said.factors[name] = w.Key
		}
		return r.among(w, parts, parameterNames(&r.Function))
	case number && isNumber.MatchString(w.Key):
		r.said.numbers[w.Value] = w.Key
	case r.Function.FactsOf(w.Value).Tuned:
		return w.At.Errorf("%s is chosen by the decorators of %s, and no line can give it: write a function "+
			"that launches the kernel", w.Value, r.Function.Name)
	case slices.Contains(parameterNames(&r.Function), w.Value):
		return r.takeParameter(w)
	case err == nil && n > 0 && r.isDim(w.Key):
		r.said.dims[w.Key] = n
	case attribute >= 0:
		r.said.attrs[w.Key] = w.Value
		return r.among(w, []string{w.Value}, attributeValues(r.Spec.Attributes[attribute], w.Value))
	case r.isDim(w.Key):
		return w.ValueAt.Errorf("found %s=%s, want a number or a parameter of %s: %s", w.Key, w.Value,
			r.Function.Name, strings.Join(parameterNames(&r.Function), ", "))
	default:
		return w.ValueAt.Errorf("%s has no parameter %q: it has %s", r.Function.Name, w.Value,
			strings.Join(parameterNames(&r.Function), ", "))
	}
	return nil
}

// takeParameter notes what a parameter stands for. One may be an input and the output in its place.
func (r *lineReader) takeParameter(w declaration.Word) error {
	before, twice := r.into.Map[w.Value]
	input := func(name string) bool { return slices.Contains(namesOf(r.inputs), name) }
	output := func(name string) bool { return slices.Contains(namesOf(r.outputs), name) }
	if r.Function.Kind == cfacts.Python { // its lines say that it writes an input
		input, output = output, input
	}
	for _, equal := range []string{before + "=" + w.Key, w.Key + "=" + before} { // rows=n, cols=n
		if twice && slices.ContainsFunc(r.Spec.SizesBeside(), sameTarget(equal)) {
			r.into.Map[w.Value] = equal
			return nil
		}
	}
	switch {
	case twice && input(w.Key) && output(before):
		r.said.over[w.Value] = w.Key
	case !twice, input(before) && output(w.Key):
		r.into.Map[w.Value], r.said.over[w.Value] = w.Key, before
	default:
		return w.ValueAt.Errorf("%s is %s and %s: want one of both", w.Value, before, w.Key)
	}
	return nil
}

// attributeValues returns the values that an attribute may have; for a number the given one.
func attributeValues(a op.AttributeSpec, value string) []string {
	_, err := strconv.ParseFloat(value, 64)
	switch {
	case a.Type == "bool":
		return []string{"true", "false"}
	case a.Type == "enum":
		return a.Values
	case err == nil:
		return []string{value}
	}
	return []string{"a number", "a parameter"}
}

// checkFactors refuses parameters that the line declares as factors of a size and that are not read so.
func (b *Binding) checkFactors() error {
	for _, a := range b.Args {
		if size := b.Options.factor(a.Name); size != "" && (a.Share == 0 || a.Target != size) {
			return b.errorf("%s is no factor of %s, as line %d says: it is %s", a.Name, size,
				b.Options.said.line.At.Line, cmp.Or(a.Target, "nothing"))
		}
	}
	return nil
}

// factor returns the size that has a parameter as a factor according to the line; "" if none has.
func (o Options) factor(parameter string) string {
	if o.said == nil {
		return ""
	}
	return o.said.factors[parameter]
}

func parameterNames(fn *cfacts.Function) []string {
	return eachOf(fn.Params, func(p cfacts.Param) string { return p.Name })
}
