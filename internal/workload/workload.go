// Package workload makes the inputs of a case: the same bits on every machine for the same seed, each tensor
// from a random stream of its own. It touches no clock, file or process, and it uses no function that two
// machines might round differently.
package workload

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"triad/internal/op"
	"triad/internal/parallel"
	"triad/internal/tensor"
)

// Inputs returns, for a forward, the operator's inputs. For a backward it returns the operator's inputs and
// then its upstream gradients grad_<output>, from which, with the saved tensors of a forward, the caller
// assembles a kernel's inputs. If the spec declares the backward's tensors itself ([[backward.tensors]], as
// for operands that are quantised for it), it returns all the backward's inputs.
func Inputs(spec *op.Spec, c op.Case, seed uint64) ([]tensor.Tensor, error) {
	return InputsWith(spec, c, seed, nil)
}

// InputsWith is Inputs for an operator with inputs of the fill "drawn", which are given, by name.
func InputsWith(spec *op.Spec, c op.Case, seed uint64, given map[string]tensor.Tensor) ([]tensor.Tensor,
	error,
) {
	m := &maker{
		spec: spec, c: c, seed: seed, key: c.Key(), given: given, drawn: map[string]*source{},
		scales: map[string]tensor.Tensor{},
	}
	defer m.done()
	types, err := m.types()
	if err != nil {
		return nil, err
	}
	for _, t := range types {
		if err := m.drawFor(t); err != nil {
			return nil, fmt.Errorf("make %s of %s: %w", t.Name, c.Op, err)
		}
	}
	if err := m.limit(); err != nil {
		return nil, err
	}
	made := make([]tensor.Tensor, len(types))
	for _, scalesToo := range []bool{false, true} { // a scale is known once its operand has been quantised
		for i, t := range types {
			fill, err := op.ParseFill(t.Fill)
			if err != nil || (fill.Kind == "scale") != scalesToo {
				continue
			}
			if made[i], err = m.finish(t, fill); err != nil {
				return nil, fmt.Errorf("make %s of %s: %w", t.Name, c.Op, err)
			}
		}
	}
	return made, nil
}

// maker makes the tensors of one case.
type maker struct {
	spec   *op.Spec
	c      op.Case
	seed   uint64
	key    string
	given  map[string]tensor.Tensor // those of the fill "drawn", by name
	drawn  map[string]*source       // by name of the input or upstream gradient
	kept   float64                  // up to this magnitude extreme inputs are not scaled
	scales map[string]tensor.Tensor // by name of the scale tensor
}

// done returns the working memory to its pool: all drawn values are in tensors by now.
func (m *maker) done() {
	for _, s := range m.drawn {
		tensor.GiveBack(s.values)
	}
}

// source is one tensor as it was drawn, before it is rounded to its dtype.
type source struct {
	values   []float64
	shape    []int64
	upstream bool
	scalable bool // limits may scale it down
	largest  float64
	kept     float64 // the largest magnitude that is not scaled
}

// types lists the types of the tensors of Inputs.
func (m *maker) types() ([]op.TensorType, error) {
	if m.c.Pass == op.Forward {
		return m.spec.Inputs(m.c)
	}
	if m.spec.Backward == nil {
		return nil, fmt.Errorf("make inputs of %s: it has no backward", m.spec.Name)
	}
	for _, t := range m.spec.Backward.Tensors {
		if slices.Contains(m.spec.Backward.Inputs, t.Name) {
			return m.spec.Inputs(m.c)
		}
	}
	inputs, err := m.spec.ForwardInputs(m.c)
	if err != nil {
		return nil, err
	}
	upstream, err := m.spec.Upstream(m.c)
	return append(inputs, upstream...), err
}

func (m *maker) stream(name string) func(purpose string) *stream {
	return func(purpose string) *stream { return newStream(m.seed, m.key, name, purpose) }
}

// drawFor draws the source of a tensor, once for all tensors made of it.
func (m *maker) drawFor(t op.TensorType) error {
	fill, err := op.ParseFill(t.Fill)
	if err != nil {
		return err
	}
	name, shape := t.Name, t.Shape
	switch fill.Kind {
	case "scale":
		return nil
	case op.Drawn:
		_, err := m.givenAs(t)
		return err
	case "quantize":
		name = fill.Source
		if t.DType == op.E2M1x2 {
			shape = unpacked(shape)
		} else if fill.Transposed {
			shape = []int64{shape[1], shape[0]}
		}
	}
	if m.drawn[name] != nil {
		return nil
	}
	s := &source{shape: shape}
	if output, ok := strings.CutPrefix(name, "grad_"); ok && m.c.Pass == op.Backward {
		if _, ok := m.spec.Output(output); ok {
			s.upstream = true
		}
	}
	s.values, err = m.draw(name, t.DType, fill, s)
	if err != nil {
		return err
	}
	s.largest = largest(s.values)
	m.drawn[name] = s
	return nil
}

// largest returns the largest finite magnitude.
func largest(x []float64) float64 {
	var mu sync.Mutex
	most := 0.0
	parallel.Runs(len(x), func(first, end int) {
		part := 0.0
		for _, v := range x[first:end] {
			if a := math.Abs(v); a > part && !math.IsInf(a, 1) {
				part = a
			}
		}
		mu.Lock()
		defer mu.Unlock()
		most = max(most, part)
	})
	return most
}

// draw returns the values of an input by its rule, or those of an upstream gradient by the case's.
func (m *maker) draw(name string, d op.DType, fill op.Fill, s *source) ([]float64, error) {
	kind := fill.Kind
	rows, cols := rowsAndCols(s.shape)
	format, _ := tensor.FormatOf(d)
	if d == op.E2M1x2 {
		d, format = op.E4M3, packedFormat // drawn as numbers; quantize packs them
	}
	elements := rows * cols
	if row := m.spec.Check.Row; row > 0 && len(s.shape) == 1 {
		rows, cols = (elements+row-1)/row, row
	}
	g := &drawing{
		random: m.stream(name), rows: rows, cols: cols, elements: elements, keys: 1, heads: 1, format: format,
		dtype: d, integer: m.spec.Check.Integers,
		nonFiniteKind: m.spec.Check.NonFinite,
	}
	g.first = m.spec.InputSpecs[0].Name == name
	if first := m.drawn[m.spec.InputSpecs[0].Name]; first != nil && slices.Equal(first.shape, s.shape) {
		g.beside = first.values
	}
	if n := len(s.shape); n >= 2 {
		g.keys = max(s.shape[n-2], 1)
	}
	if len(m.spec.Check.Logits) == 2 {
		m.inLogits(g, name, s.shape)
	}
	switch {
	case s.upstream && m.c.Upstream == "normal" && m.bitsOfUpstream():
		s.upstream, s.scalable = false, d.IsFloat()
		return g.draw(m.c.Distribution) // the backward meets the distribution nowhere else
	case s.upstream:
		return g.upstream(m.c.Upstream)
	case kind == "" || kind == "addend" || kind == "about" || kind == "quantize":
		s.scalable = d.IsFloat()
		if kind == "about" {
			value, _ := m.c.Attrs.Lookup(fill.Of)
			g.about = &value.Number
		}
		if kind == "addend" {
			g.nonFiniteKind = "rows"
		}
		return g.draw(m.c.Distribution)
	case kind == "offsets":
		return g.offsets(m.c.Distribution, m.c.Dims.Get(fill.Of))
	case kind == "lengths":
		return g.lengths(m.c.Distribution, m.sizeOf(fill.Least), m.sizeOf(fill.Of), fill.Least != "")
	case kind == "places":
		return g.places(m.c.Dims.Get(fill.Of))
	case kind == "choices":
		return g.choices(m.c.Distribution, int64(m.sizeOf(fill.Of)))
	case kind == "blocks":
		return g.blocks(m.c.Distribution, s.shape, int64(m.sizeOf(fill.Of)))
	case kind == "classes":
		ignored, _ := m.c.Attrs.Lookup(fill.Ignoring)
		return g.classes(m.c.Distribution, m.c.Dims.Get(fill.Of), ignored.Number)
	default:
		return g.parameter(kind, m.c.Distribution, s.shape)
	}
}

// inLogits fills what a tensor is in logits that are a product of two.
func (m *maker) inLogits(g *drawing, name string, shape []int64) {
	g.role = roleOther
	if at := slices.Index(m.spec.Check.Logits, name); at >= 0 {
		g.role = [2]role{roleQuery, roleKey}[at]
	}
	if g.role == roleKey && m.byToken(name) {
		g.keys, g.heads = max(shape[1], 1), g.keys
	}
}

// byToken reports whether an input is [batch, tokens, heads, n].
func (m *maker) byToken(name string) bool {
	t, _ := m.spec.Input(name)
	_, sizes := t.Sizes()
	return len(sizes[""]) == 4 && strings.HasPrefix(sizes[""][2].String(), "heads")
}

// sizeOf returns an attribute or a dim, and 0 for no name.
func (m *maker) sizeOf(name string) float64 {
	if name == "" {
		return 0
	}
	if value, ok := m.c.Attrs.Lookup(name); ok {
		return value.Number
	}
	return float64(m.c.Dims.Get(name))
}

// bitsOfUpstream reports whether bits are compared of a backward that takes no numbers but upstream
// gradients: then they must include -0, subnormals, infinities and NaN. Integers may say where they go.
func (m *maker) bitsOfUpstream() bool {
	return m.spec.DefaultContract(m.c.DType) == "exact" &&
		!slices.ContainsFunc(m.spec.Backward.Inputs, func(name string) bool {
			if t, ok := m.spec.Input(name); ok {
				d, err := op.ParseDType(t.DType)
				return err != nil || d.IsFloat()
			}
			output, isGradient := strings.CutPrefix(name, "grad_")
			_, known := m.spec.Output(output)
			return !isGradient || !known
		})
}

// rowsAndCols views a shape as rows of its last dim; a scalar is one row of one column.
func rowsAndCols(shape []int64) (rows, cols int64) {
	rows, cols = 1, 1
	for i, n := range shape {
		if i == len(shape)-1 {
			cols = n
		} else {
			rows *= n
		}
	}
	return rows, cols
}

// finish rounds the drawn values to the tensor's dtype and lays them out as the case says.
func (m *maker) finish(t op.TensorType, fill op.Fill) (tensor.Tensor, error) {
	switch fill.Kind {
	case op.Drawn:
		return m.givenAs(t)
	case "scale":
		made, ok := m.scales[t.Name]
		if !ok {
			return made, fmt.Errorf("nothing is quantised by %s", t.Name)
		}
		return made, nil
	case "quantize":
		codes, err := m.quantize(t, fill)
		if err != nil {
			return tensor.Tensor{}, err
		}
		return layOut(t, codes, m.layout(t)), nil
	}
	x := m.drawn[t.Name].values
	if !m.c.DeclaresInfinity() { // rounding up must not make an undeclared infinity
		parallel.Runs(len(x), func(first, end int) { roundAll(x[first:end], t.DType) })
	}
	made := layOut(t, x, m.layout(t))
	if m.c.Distribution == "non_finite" && t.DType.IsFloat() {
		negateNaNs(made.Data, t.DType)
	}
	return made, nil
}

// givenAs returns the tensor that was given for an input, which must be of its type.
func (m *maker) givenAs(t op.TensorType) (tensor.Tensor, error) {
	g, ok := m.given[t.Name]
	switch {
	case !ok:
		return g, errors.New("its problem draws it, and nothing was drawn")
	case g.DType != t.DType || !slices.Equal(g.Shape, t.Shape):
		return g, fmt.Errorf("its problem drew %v %v: want %v %v", g.DType, g.Shape, t.DType, t.Shape)
	}
	return g, nil
}

// roundAll rounds values to a dtype. Those beyond its range become the largest float with their sign, or NaN
// for an integer dtype.
func roundAll(x []float64, d op.DType) {
	if f, ok := tensor.FormatOf(d); ok {
		f.RoundAll(x, x, true)
		return
	}
	for i, v := range x {
		x[i] = tensor.Round(d, v, true)
	}
}

// layout returns the layout of a tensor: the case's if it applies to the tensor, except for an upstream
// gradient with a layout of its own.
func (m *maker) layout(t op.TensorType) string {
	own := slices.Contains(m.spec.UpstreamLayouts(), m.c.Upstream)
	if s := m.drawn[t.Name]; own && s != nil && s.upstream {
		if m.c.Upstream == "expanded" {
			return oneNumber
		}
		return m.c.Upstream
	}
	if m.c.Layout == "offset_one" {
		if m.alone() == t.Name {
			return "offset"
		}
		return "contiguous"
	}
	// vectors are sliced if the operator has nothing else: a kernel of rows handles only sliced rows
	ofRows := slices.Contains(m.spec.Layouts(), "padded") && len(t.Shape) == 1 && m.c.Layout == "sliced"
	if t.Strided && !ofRows {
		return m.c.Layout
	}
	return "contiguous"
}

// alone returns the only input that begins at an odd place: each dtype has another one, among those with
// elements in the case. The first dtype has the last input: a kernel that checks only one address checks the
// first input's.
func (m *maker) alone() string {
	types, _ := m.types()
	names := slices.DeleteFunc(m.spec.Laid(m.c.Pass), func(name string) bool {
		i := slices.IndexFunc(types, func(t op.TensorType) bool { return t.Name == name })
		return i < 0 || types[i].Elements() == 0
	})
	if len(names) == 0 {
		return ""
	}
	return names[(slices.Index(m.spec.DTypes, m.c.DType)+len(names)-1)%len(names)]
}
