package problem

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"triad/internal/op"
)

// specOf returns the spec of a problem's operator.
func specOf(p Problem, source Source, d *Description) string {
	var b strings.Builder
	line := func(format string, a ...any) { fmt.Fprintf(&b, format+"\n", a...) }
	line("# Made by triad import. problem.json says how the problem and its submissions are called.")
	line("name = %s", quoted(p.Operator))
	problem := filepath.Base(source.Path)
	if p.Part != "" {
		problem = p.Part + " in " + problem
	}
	line("summary = %s", quoted("the problem "+problem+" of the format "+p.Format))
	line("formula = %s", quoted(d.formula()))
	line("source = %s", quoted(sourceWords(source)))
	line("dtypes = %s", list(d.DTypes))
	if required := d.required(); len(required) > 0 {
		line("require = %s", list(required))
	}
	for _, x := range d.Dims {
		line("\n[[dims]]\nname = %s", quoted(x.Name))
		if x.MayBeEmpty {
			line("may_be_empty = true")
		}
	}
	for _, a := range d.Attributes {
		line("\n[[attributes]]\nname = %s\ntype = %s", quoted(a.Name), quoted(a.Type))
		line("default = %s", a.Default)
		if a.Least != nil {
			line("least = %d", *a.Least)
		}
		if a.Below != nil {
			line("below = %d", *a.Below)
		}
		if a.Draws {
			line("draws = true")
		}
	}
	writeTensors(line, "inputs", d.Inputs)
	writeTensors(line, "outputs", d.Outputs)
	d.backward(line)
	d.contract(line)
	d.own(line)
	d.costs(line)
	d.limits(line)
	d.check(line)
	return b.String()
}

func sourceWords(s Source) string {
	words := filepath.Base(s.Path) + ", sha256 " + s.SHA256
	if s.Commit != "" {
		words += ", " + s.Commit
	}
	return words
}

// formula returns "y = reference(a, b)".
func (d *Description) formula() string {
	return strings.Join(names(d.Outputs), ", ") + " = reference(" + strings.Join(names(d.Inputs), ", ") + ")"
}

// required returns the conditions of every case: an attribute that passes a size on equals it.
func (d *Description) required() []string {
	var all []string
	if fixed := d.fixed(); fixed != "" {
		all = append(all, fixed)
	}
	for _, a := range d.Attributes {
		for _, x := range d.Dims {
			if string(a.Default) == quoted(x.Name) {
				all = append(all, a.Name+" == "+x.Name)
			}
		}
	}
	return all
}

// fixed returns the condition of a problem whose sizes are no constants: its only dim is 1 and means nothing.
func (d *Description) fixed() string {
	if len(d.Dims) == 1 && !slices.ContainsFunc(slices.Concat(d.Inputs, d.Outputs), func(t tensor) bool {
		return slices.ContainsFunc(t.Shape, func(size string) bool {
			return strings.Contains(size, d.Dims[0].Name)
		})
	}) {
		return d.Dims[0].Name + " == 1"
	}
	return ""
}

func writeTensors(line func(string, ...any), kind string, tensors []tensor) {
	for _, t := range tensors {
		line("\n[[%s]]\nname = %s\nshape = %s", kind, quoted(t.Name), list(t.Shape))
		if t.DType != "" {
			line("dtype = %s", quoted(t.DType))
		}
		if t.Differentiable {
			line("differentiable = true")
		}
		if t.Fill != "" {
			line("fill = %s", quoted(t.Fill))
		}
	}
}

func (d *Description) backward(line func(string, ...any)) {
	var gradients, upstream []string
	for _, t := range d.Inputs {
		if t.Differentiable {
			gradients = append(gradients, "grad_"+t.Name)
		}
	}
	if len(gradients) == 0 {
		return
	}
	for _, t := range d.Outputs {
		upstream = append(upstream, "grad_"+t.Name)
	}
	line("\n[backward]\ninputs = %s\noutputs = %s\nchained = false",
		list(append(names(d.Inputs), upstream...)), list(gradients))
}

// contract: in 16 bits the reference itself rounds after every operation.
func (d *Description) contract(line func(string, ...any)) {
	contract, permits := "fp32", `["eager"]`
	if dtype, err := op.ParseDType(d.DTypes[0]); err == nil && !dtype.IsFloat() {
		contract, permits = "exact", "[]"
	} else if d.DTypes[0] != "fp32" {
		contract, permits = "eager", "[]"
	}
	if slices.ContainsFunc(d.Inputs, func(t tensor) bool { return t.DType == "e4m3" || t.DType == "e5m2" }) {
		permits = `["fast"]` // a kernel may use the tensor core for fp8
	}
	line("\n[contract]\ndefault = { %s = %s }\npermits = %s", d.DTypes[0], quoted(contract), permits)
}

// own names the outputs that the problem's function writes over an input.
func (d *Description) own(line func(string, ...any)) {
	if len(d.InPlace) == 0 {
		return
	}
	var pairs []string
	for _, output := range slices.Sorted(maps.Keys(d.InPlace)) {
		pairs = append(pairs, output+" = "+quoted(d.InPlace[output]))
	}
	line("\n[own]\nin_place = { %s }", strings.Join(pairs, ", "))
}

// costs counts each tensor once, and an operation for each element of the outputs: less nobody can do.
func (d *Description) costs(line func(string, ...any)) {
	product := func(t tensor) string {
		factors := make([]string, len(t.Shape))
		for i, s := range t.Shape {
			factors[i] = s
			if strings.ContainsAny(s, "+-") && !strings.HasPrefix(s, "ceildiv") {
				factors[i] = "(" + s + ")"
			}
		}
		return strings.Join(factors, " * ")
	}
	var bytes, flops, gradients []string
	for _, t := range slices.Concat(d.Inputs, d.Outputs) {
		bytes = append(bytes, product(t)+" * size_"+t.Name)
	}
	for _, t := range d.Outputs {
		flops = append(flops, product(t))
	}
	for _, t := range d.Inputs {
		if t.Differentiable {
			gradients = append(gradients, product(t))
		}
	}
	line("\n[cost.forward]\nbytes = %s\nflops = %s", quoted(strings.Join(bytes, " + ")),
		quoted(strings.Join(flops, " + ")))
	if len(gradients) > 0 {
		sizes := strings.Join(gradients, " + ")
		line("\n[cost.backward]\nbytes = %s\nflops = %s", quoted("("+sizes+") * size"), quoted(sizes))
	}
}

// limits leaves room for what the gradient of any problem may multiply huge upstream gradients by.
func (d *Description) limits(line func(string, ...any)) {
	if !slices.ContainsFunc(d.Inputs, func(t tensor) bool { return t.Differentiable }) {
		return
	}
	var wide, narrow []string
	for _, t := range d.Outputs {
		wide, narrow = append(wide, "2097152 * 2097152 * grad_"+t.Name), append(narrow, "4096 * grad_"+t.Name)
	}
	line("\n[limits.backward]\nfp32 = %s", list(wide))
	if d.DTypes[0] != "fp32" {
		line("stored = %s", list(narrow))
	}
}

func (d *Description) check(line func(string, ...any)) {
	line("\n[check]\ndistributions = %s\nquick = %s", list(d.Distributions), list(d.Quick))
	var trivial, conditions []string
	for _, name := range []string{"zeros", "constant"} {
		if slices.Contains(d.Distributions, name) {
			trivial = append(trivial, name)
		}
	}
	for _, x := range d.Dims {
		if x.Empties {
			conditions = append(conditions, x.Name+" < 1")
		}
	}
	line("trivial = { distributions = %s, upstreams = [\"zeros\"], shapes = %s }", list(trivial),
		list(conditions))
	line("shapes = [")
	shapes := slices.Clone(d.Shapes)
	own := slices.ContainsFunc(shapes, func(s map[string]int64) bool { return d.same(s, d.Own) })
	if !own && len(d.OwnAttributes) == 0 {
		shapes = append(shapes, d.Own)
	}
	quick := mostQuick - len(d.Quick)
	for i, s := range shapes {
		words := d.sizes(s)
		switch {
		case d.same(s, d.Every):
			words, quick = words+", all = true, quick = true", quick-1
		case d.same(s, d.Own) && d.OwnNeedsGPU:
			words += `, device = "gpu"`
		case d.same(s, d.Own) || i < quickShapes:
			words, quick = words+", quick = true", quick-1
		}
		line("  { %s },", words)
	}
	for i, p := range d.Pinned {
		words := d.sizes(p.Sizes) + ", " + d.values(p.Attributes)
		if i < quick-1 {
			words += ", quick = true"
		}
		line("  { %s },", words)
	}
	if len(d.OwnAttributes) > 0 && d.OwnNeedsGPU {
		line("  { %s, %s, device = \"gpu\" },", d.sizes(d.Own), d.values(d.OwnAttributes))
	} else if len(d.OwnAttributes) > 0 {
		line("  { %s, %s, quick = true },", d.sizes(d.Own), d.values(d.OwnAttributes))
	}
	line("]")
	line("\n[[bench]]\nname = \"the problem's own sizes\"\ndims = { %s }", d.sizes(d.Own))
	if len(d.OwnAttributes) > 0 {
		line("attributes = { %s }", d.values(d.OwnAttributes))
	}
	if !slices.ContainsFunc(d.Inputs, func(t tensor) bool { return t.Differentiable }) &&
		!d.same(d.Own, d.Every) {
		line("\n[[bench]]\nname = \"small sizes\"\ndims = { %s }", d.sizes(d.Every))
	}
}

// quickShapes is the number of the first shapes that --quick takes, mostQuick the maximum of all that it
// takes.
const (
	quickShapes = 5
	mostQuick   = 11
)

func (d *Description) sizes(shape map[string]int64) string {
	var words []string
	for _, x := range d.Dims {
		words = append(words, x.Name+" = "+strconv.FormatInt(shape[x.Name], 10))
	}
	return strings.Join(words, ", ")
}

// values returns attributes with their values, in the order of the spec.
func (d *Description) values(attributes map[string]json.RawMessage) string {
	var words []string
	for _, a := range d.Attributes {
		if value, has := attributes[a.Name]; has {
			words = append(words, a.Name+" = "+string(value))
		}
	}
	return strings.Join(words, ", ")
}

func (d *Description) same(a, b map[string]int64) bool { return d.sizes(a) == d.sizes(b) }

func names(tensors []tensor) []string {
	all := make([]string, len(tensors))
	for i, t := range tensors {
		all[i] = t.Name
	}
	return all
}

// quoted returns a TOML string.
func quoted(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

func list(texts []string) string {
	all := make([]string, len(texts))
	for i, t := range texts {
		all[i] = quoted(t)
	}
	return "[" + strings.Join(all, ", ") + "]"
}
