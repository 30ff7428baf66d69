package casegaps

import (
	"math"
	"regexp"
	"slices"
	"strconv"

	"triad/internal/op"
	"triad/internal/tensor"
)

// Call returns the call of a case as an implementation that makes the mistake sees it, and whether it differs
// from the right one. Mistakes with outputs change no call. in holds the inputs of the truth of the case.
func (q Question) Call(spec *op.Spec, c op.Case, in []tensor.Tensor) (op.Case, []tensor.Tensor, bool) {
	switch q.Kind {
	case Attribute:
		other, differs := q.attributed(spec, c)
		if !differs || !sameElements(spec, c, other) {
			return c, in, false
		}
		return other, shapedFor(spec, other, in), true
	case Strides, Offset, Numbers:
		for i, t := range in {
			if t.Name != q.Subject {
				continue
			}
			changed, differs := q.input(t)
			in = slices.Clone(in)
			in[i] = changed
			return c, in, differs
		}
	case Index16:
		return q.wrapped(spec, c, in)
	}
	return c, in, false
}

// attributed returns the case with another value of an attribute, and whether that is another case.
func (q Question) attributed(spec *op.Spec, c op.Case) (op.Case, bool) {
	has, ok := c.Attrs.Lookup(q.Subject)
	if !ok {
		return c, false
	}
	values := []string{q.Value}
	switch q.Value {
	case Default:
		values = []string{""}
	case Other:
		values = []string{
			number(2 * has.Number), number(has.Number + 1), number(has.Number / 2), number(has.Number - 1),
		}
	}
	for _, v := range values {
		attributes := map[string]string{}
		for _, a := range c.Attrs {
			attributes[a.Name] = a.Text
		}
		if attributes[q.Subject] = v; v == "" {
			delete(attributes, q.Subject)
		}
		other := c
		var err error
		if other.Dims, other.Attrs, err = spec.Resolve(sizesOf(c), attributes); err != nil {
			continue
		}
		if other.Attrs.Text(q.Subject) != has.Text {
			return other, true
		}
	}
	return c, false
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

func sizesOf(c op.Case) map[string]int64 {
	sizes := map[string]int64{}
	for _, d := range c.Dims {
		sizes[d.Name] = d.Value
	}
	return sizes
}

// TypesOf returns all tensors of a case by name: those of its pass, and in a backward the forward's inputs
// and the upstream gradients.
func TypesOf(spec *op.Spec, c op.Case) map[string]op.TensorType {
	types := map[string]op.TensorType{}
	for _, list := range []func(op.Case) ([]op.TensorType, error){
		spec.ForwardInputs, spec.Upstream, spec.Inputs, spec.Outputs,
	} {
		if all, err := list(c); err == nil {
			for _, t := range all {
				types[t.Name] = t
			}
		}
	}
	return types
}

// hasElements reports whether an output of a case has an element.
func hasElements(spec *op.Spec, c op.Case) bool {
	return slices.ContainsFunc(outputsOf(spec, c), func(t op.TensorType) bool { return t.Elements() > 0 })
}

// sameElements reports whether every tensor has the same dtype and as many elements in both cases.
func sameElements(spec *op.Spec, a, b op.Case) bool {
	of, other := TypesOf(spec, a), TypesOf(spec, b)
	for name, t := range of {
		if u := other[name]; u.DType != t.DType || u.Elements() != t.Elements() {
			return false
		}
	}
	return len(of) == len(other)
}

// shapedFor reads inputs as another shape, in memory order.
func shapedFor(spec *op.Spec, c op.Case, in []tensor.Tensor) []tensor.Tensor {
	types, shaped := TypesOf(spec, c), slices.Clone(in)
	for i, t := range in {
		if want, ok := types[t.Name]; ok && !slices.Equal(want.Shape, t.Shape) {
			shaped[i] = tensor.New(t.Name, t.DType, want.Shape)
			shaped[i].SetFloat64s(t.Float64s())
		}
	}
	return shaped
}

// input returns an input as the mistake reads it, and whether that differs.
func (q Question) input(t tensor.Tensor) (tensor.Tensor, bool) {
	switch q.Kind {
	case Strides:
		if t.IsContiguous() {
			return t, false
		}
		t.Stride = tensor.Contiguous(t.Shape)
	case Offset:
		if t.Offset == 0 || t.Elements() == 0 {
			return t, false
		}
		t.Offset = 0
	case Numbers:
		v := t.Float64s()
		if !q.replace(v, columns(t.Shape)) {
			return t, false
		}
		changed := tensor.New(t.Name, t.DType, t.Shape)
		changed.SetFloat64s(v)
		return changed, true
	}
	if need := (t.Offset + t.Elements()) * t.DType.Size(); int64(len(t.Data)) < need {
		behind := make([]byte, need-int64(len(t.Data))) // memory of another owner
		tensor.Poison(behind, t.DType, "a")
		t.Data = slices.Concat(t.Data, behind)
	}
	return t, true
}

func columns(shape []int64) int {
	if len(shape) == 0 {
		return 1
	}
	return int(shape[len(shape)-1])
}

// replace replaces the numbers of the question's kind and reports whether there are any.
func (q Question) replace(v []float64, cols int) bool {
	found := false
	before := math.NaN()
	for i, x := range v {
		by, is := other(q.Value, x, before)
		if is && !(q.Value == Repeated && i%cols == 0) {
			v[i], found = by, true
		}
		before = x
	}
	return found
}

// other returns the value that the mutant substitutes for a number, and whether the number is of that kind.
func other(kind string, x, before float64) (float64, bool) {
	switch kind {
	case NaN:
		return 0, math.IsNaN(x)
	case Infinity:
		return 1, math.IsInf(x, 1)
	case NegInfinity:
		return -1, math.IsInf(x, -1)
	case NegZero:
		return 1, x == 0 && math.Signbit(x)
	case SignOfZero:
		return 0, x == 0 && math.Signbit(x)
	case Large:
		return x / 2, 1e6 < math.Abs(x) && math.Abs(x) < 1e30
	case Repeated:
		if x == 0 {
			return 1, x == before
		}
		return 0, x == before
	}
	return x, false
}

// wrapped reads inputs with indices of 16 bits along a size that no output has.
func (q Question) wrapped(spec *op.Spec, c op.Case, in []tensor.Tensor) (op.Case, []tensor.Tensor, bool) {
	n, _ := c.Dims.Lookup(q.Subject)
	if n <= wraps || q.OnOutputs(spec, c) {
		return c, in, false
	}
	types, found := TypesOf(spec, c), false
	in = slices.Clone(in)
	for i, t := range in {
		v := t.Float64s()
		if !Wrap(v, types[t.Name], q.Subject) {
			continue
		}
		in[i] = tensor.New(t.Name, t.DType, t.Shape)
		in[i].SetFloat64s(v)
		found = true
	}
	return c, in, found
}

// OnOutputs reports whether the size that Index16 is about counts elements of an output.
func (q Question) OnOutputs(spec *op.Spec, c op.Case) bool {
	outputs, err := spec.Outputs(c)
	return err == nil && slices.ContainsFunc(outputs, func(t op.TensorType) bool {
		return slices.Contains(t.Sizes, q.Subject)
	})
}

// Wrap replaces the elements of a tensor beyond the first 65,536 along a size by those that a 16-bit index
// reaches instead, and reports whether there are any.
func Wrap(v []float64, t op.TensorType, size string) bool {
	axis := slices.Index(t.Sizes, size)
	if axis < 0 || t.Shape[axis] <= wraps {
		return false
	}
	inner := 1
	for _, n := range t.Shape[axis+1:] {
		inner *= int(n)
	}
	n := int(t.Shape[axis])
	for i := range v {
		if at := i / inner % n; at >= wraps {
			v[i] = v[i-(at-at%wraps)*inner]
		}
	}
	return true
}

var words = regexp.MustCompile(`[A-Za-z_][A-Za-z_0-9]*`)

// Mentions reports whether a name occurs in the expressions of a shape.
func Mentions(sizes []string, name string) bool {
	return slices.ContainsFunc(sizes, func(size string) bool {
		return slices.Contains(words.FindAllString(size, -1), name)
	})
}
