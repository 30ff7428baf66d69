package build

import (
	"fmt"
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"triad/internal/catalog"
	"triad/internal/op"
	"triad/internal/userfile"
)

// specFolder is the folder from which a kernel file includes the header of its operator's spec: #include
// "spec/<op>.cuh".
const specFolder = "cuda/include/spec/"

// specHeaderAt returns the header for a path in specFolder; ok is false for any other path, and for an
// unknown operator. The spec is that in the folder of a kernel file on disk, else that of the catalog.
func specHeaderAt(at, home string) (text []byte, ok bool) {
	name, inside := strings.CutPrefix(at, specFolder)
	if !inside || path.Ext(name) != ".cuh" || strings.Contains(name, "/") {
		return nil, false
	}
	name = strings.TrimSuffix(name, ".cuh")
	spec, err := specBeside(home, name)
	if spec == nil && err == nil {
		var known *catalog.Operator
		if known, err = catalog.Get(name); err == nil {
			spec = known.Spec
		}
	}
	if err != nil {
		return nil, false // the compiler names the line that includes it
	}
	return []byte(specHeader(spec)), true
}

// specBeside reads the spec of an operator in a folder of its own; nil if there is none.
func specBeside(folder, name string) (*op.Spec, error) {
	file := filepath.Join(folder, name+".toml")
	text, err := userfile.Read(file)
	if folder == "" || os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return op.Load(file, text)
}

// specHeader generates what cuda/include/spec.cuh describes: for each pass of an operator the names of its
// tensors and their sizes, and a function that checks a call.
func specHeader(spec *op.Spec) string {
	var out strings.Builder
	fmt.Fprintf(&out, "// Written by triad from %s.toml; spec.cuh explains it.\n#include \"spec.cuh\"\n\n"+
		"namespace triad {\n", spec.Name)
	for _, pass := range spec.Passes() {
		w := &specWriter{spec: spec, pass: pass, out: &out}
		w.inputs, w.outputs = spec.Tensors(pass)
		w.write()
	}
	out.WriteString("\n} // namespace triad\n")
	return out.String()
}

// specWriter generates one pass.
type specWriter struct {
	spec            *op.Spec
	pass            op.Pass
	inputs, outputs []op.TensorSpec
	out             *strings.Builder
	bound           []string // dims shown by the tensors of the pass
}

func (w *specWriter) linef(format string, a ...any) { fmt.Fprintf(w.out, format+"\n", a...) }

func (w *specWriter) write() {
	name := w.spec.Name + "_" + w.pass.String()
	w.linef("\nstatic void %s_fits(Check &check, const triad_call *call) {", name)
	w.linef("\tif (!check.counts(call, %d, %d, %d)) return;", len(w.inputs), len(w.outputs),
		len(w.spec.Attributes))
	w.attributes()
	w.each(func(t op.TensorSpec, at string) {
		if attribute, choices := t.Sizes(); attribute == "" {
			w.linef("\tcheck.rank(%s, %q, %d);", at, t.Name, len(choices[""]))
		}
	})
	w.linef("\tif (!check.holds()) return;")
	w.dims()
	for _, condition := range w.spec.Conditions() {
		if w.known(condition) {
			w.linef("\tcheck.that(static_cast<bool>(%s), \"%s: want %%s\"%s, %q);", w.whole(condition.Tree()),
				w.values(condition), w.arguments(condition), condition)
		}
	}
	w.each(w.sizes)
	w.dtypes()
	for i, t := range w.outputs {
		w.linef("\tif (given(call->out[%d])) check.contiguous(call->out[%d], %q);", i, i, t.Name)
	}
	w.linef("}\n")
	w.linef("static const SpecPass %s(%q, %q, {", name, w.spec.Name, w.pass.String())
	for k, list := range [][]op.TensorSpec{w.inputs, w.outputs} {
		for i, t := range list {
			w.linef("\t{%q, %t, %d, %s},", t.Name, k == 1, i, namedSizes(t))
		}
	}
	w.linef("}, %s_fits);", name)
}

// namedSizes formats the rank and the sizes of a SpecTensor.
func namedSizes(t op.TensorSpec) string {
	attribute, choices := t.Sizes()
	if attribute != "" {
		return "-1, {}"
	}
	var sizes []string
	for _, e := range choices[""] {
		sizes = append(sizes, fmt.Sprintf("%q", e))
	}
	return fmt.Sprintf("%d, {%s}", len(sizes), strings.Join(sizes, ", "))
}

// each visits the tensors of the pass, with their expressions in the code. Outputs that a kernel does not
// give are not checked.
func (w *specWriter) each(f func(t op.TensorSpec, at string)) {
	for i, t := range w.inputs {
		f(t, fmt.Sprintf("call->in[%d]", i))
	}
	for i, t := range w.outputs {
		at := fmt.Sprintf("call->out[%d]", i)
		w.linef("\tif (given(%s)) {", at)
		f(t, at)
		w.linef("\t}")
	}
}

// attributes declares the attributes that sizes and conditions may use.
func (w *specWriter) attributes() {
	for i, a := range w.spec.Attributes {
		if a.Type == "float" {
			continue
		}
		w.linef("\t[[maybe_unused]] const whole::Whole attr_%s = whole::of(call->attr[%d]);", a.Name, i)
		if a.Type == "enum" {
			w.linef("\tcheck.that(0 <= attr_%s.value && attr_%s.value < %d, \"%s %%g is not one of %s "+
				"(0 to %d)\", call->attr[%d]);", a.Name, a.Name, len(a.Values), a.Name,
				strings.Join(a.Values, ", "), len(a.Values)-1, i)
		}
	}
}

// dims declares each dim from the first tensor that shows it; an optional output may be missing.
func (w *specWriter) dims() {
	for _, d := range w.spec.Dims {
		at := w.shownBy(d.Name)
		if at == "" {
			continue
		}
		w.bound = append(w.bound, d.Name)
		w.linef("\t[[maybe_unused]] const whole::Whole dim_%s{%s};", d.Name, at)
		if !d.MayBeEmpty {
			w.linef("\tcheck.that(dim_%s.value >= 1, \"%s is %%lld, not 1 or more\", "+
				"static_cast<long long>(dim_%s.value));", d.Name, d.Name, d.Name)
		}
	}
}

// shownBy returns the code that reads a dim from a tensor of a call.
func (w *specWriter) shownBy(dim string) string {
	shown, ok := op.ShownBy(dim, w.inputs, w.outputs)
	if !ok {
		return ""
	}
	at := fmt.Sprintf("call->%s[%d].shape[%d]", map[bool]string{false: "in", true: "out"}[shown.Output],
		shown.Tensor, shown.Axis)
	if shown.Times > 1 {
		at += fmt.Sprintf(" * %d", shown.Times)
	}
	return at
}

// known reports whether an expression uses only declared names.
func (w *specWriter) known(e op.Expression) bool {
	for _, name := range e.Names() {
		if !slices.Contains(w.bound, name) && w.attribute(name).Type == "" ||
			w.attribute(name).Type == "float" {
			return false
		}
	}
	return true
}

// attribute returns the declaration of an attribute; its zero value if no attribute has the name.
func (w *specWriter) attribute(name string) op.AttributeSpec {
	for _, a := range w.spec.Attributes {
		if a.Name == name {
			return a
		}
	}
	return op.AttributeSpec{}
}

// sizes generates the comparison of a tensor's shape with its expressions.
func (w *specWriter) sizes(t op.TensorSpec, at string) {
	attribute, choices := t.Sizes()
	if attribute == "" {
		w.shape(t, at, choices[""])
		return
	}
	for value, word := range w.attribute(attribute).Values {
		w.linef("\tif (attr_%s.value == %d && check.rank(%s, %q, %d).holds()) {", attribute, value, at,
			t.Name, len(choices[word]))
		w.shape(t, at, choices[word])
		w.linef("\t}")
	}
}

func (w *specWriter) shape(t op.TensorSpec, at string, sizes []op.Expression) {
	for axis, e := range sizes {
		if w.known(e) {
			w.linef("\tcheck_size(check, %s, %q, %d, %s, %q);", at, t.Name, axis, w.whole(e.Tree()), e)
		}
	}
}

// dtypes generates the check of each tensor's dtype against its declaration: a fixed dtype, that of an
// attribute, or a part of the case's dtype, where the first tensor determines the others.
func (w *specWriter) dtypes() {
	first := map[string]string{} // of the case's dtype, by part
	w.each(func(t op.TensorSpec, at string) {
		part := t.DType
		if part == "" {
			part = "$1"
		}
		if d, err := op.ParseDType(part); err == nil {
			w.linef("\tcheck.dtype(%s, %q, %d);", at, t.Name, d.ABI())
			return
		}
		if part != "$1" && part != "$2" {
			w.dtypeOfAttribute(t, at, strings.TrimPrefix(part, "$"))
			return
		}
		if first[part] == "" {
			first[part] = at
			return
		}
		w.linef("\tcheck.dtype(%s, %q, %s.dtype);", at, t.Name, first[part])
	})
	var taken []string
	for _, dtype := range w.spec.PassDTypes(w.pass) {
		parts := strings.Split(dtype, "_")
		var both []string
		for part, name := range map[string]string{"$1": parts[0], "$2": parts[len(parts)-1]} {
			if d, err := op.ParseDType(name); err == nil && first[part] != "" {
				both = append(both, fmt.Sprintf("%s.dtype == %d", first[part], d.ABI()))
			}
		}
		if len(both) == 0 {
			return // every tensor has its own dtype
		}
		slices.Sort(both)
		taken = append(taken, "("+strings.Join(both, " && ")+")")
	}
	main := first["$1"]
	if main == "" {
		main = first["$2"]
	}
	w.linef("\tcheck.that(%s, \"the dtype is %%s, not one of %s\", dtype_name(%s.dtype));",
		strings.Join(taken, " || "), strings.Join(w.spec.PassDTypes(w.pass), ", "), main)
}

func (w *specWriter) dtypeOfAttribute(t op.TensorSpec, at, attribute string) {
	for value, word := range w.attribute(attribute).Values {
		d, _ := op.ParseDType(word)
		w.linef("\tif (attr_%s.value == %d) check.dtype(%s, %q, %d);", attribute, value, at, t.Name, d.ABI())
	}
}

// values and arguments format the sizes in a condition: "head_dim = %lld", and the number.
func (w *specWriter) values(e op.Expression) string {
	var parts []string
	for _, name := range e.Names() {
		parts = append(parts, name+" = %lld")
	}
	return strings.Join(parts, ", ")
}

func (w *specWriter) arguments(e op.Expression) string {
	var out strings.Builder
	for _, name := range e.Names() {
		fmt.Fprintf(&out, ", static_cast<long long>(%s.value)", w.variable(name))
	}
	return out.String()
}

func (w *specWriter) variable(name string) string {
	if slices.Contains(w.bound, name) {
		return "dim_" + name
	}
	return "attr_" + name
}

// whole turns an expression of a spec into C++ over whole::Whole.
func (w *specWriter) whole(node ast.Expr) string {
	switch n := node.(type) {
	case *ast.BasicLit:
		return "whole::Whole{" + n.Value + "}"
	case *ast.Ident:
		return w.variable(n.Name)
	case *ast.ParenExpr:
		return "(" + w.whole(n.X) + ")"
	case *ast.UnaryExpr:
		return n.Op.String() + "(" + w.whole(n.X) + ")"
	case *ast.BinaryExpr:
		return "(" + w.whole(n.X) + " " + n.Op.String() + " " + w.whole(n.Y) + ")"
	case *ast.CallExpr:
		var all []string
		for _, a := range n.Args {
			all = append(all, w.whole(a))
		}
		return "whole::" + n.Fun.(*ast.Ident).Name + "(" + strings.Join(all, ", ") + ")"
	}
	panic(fmt.Sprintf("an expression of a spec holds a %T", node))
}
