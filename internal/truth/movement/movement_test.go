package movement_test

import (
	"math"
	"slices"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	_ "triad/internal/truth/all"
	"triad/internal/truth/movement"
	"triad/internal/truth/truthtest"
)

// members calls visit for every operator of the family on one case of each pass, of several sizes.
func members(t *testing.T, visit func(o movement.Operator, spec *op.Spec, c op.Case)) {
	t.Helper()
	found := 0
	for _, member := range truth.All() {
		o, ok := movement.Get(member.Spec.Name)
		if !ok {
			continue
		}
		found++
		for i := range int64(4) {
			dims := map[string]int64{}
			for k, d := range member.Spec.Dims {
				dims[d.Name] = 1 + (3*i+int64(k)*5)%13
			}
			for _, pass := range member.Spec.Passes() {
				c, err := member.Spec.NewCase(op.Case{Pass: pass, DType: "fp16"}, dims, nil)
				if err != nil {
					t.Fatal(err)
				}
				visit(o, member.Spec, c)
			}
		}
	}
	if found == 0 {
		t.Fatal("the family has no operator")
	}
}

// TestMapsAreInverse: every element of the input goes to one place, and Back locates it.
func TestMapsAreInverse(t *testing.T) {
	members(t, func(o movement.Operator, spec *op.Spec, c op.Case) {
		inputs, _ := spec.Inputs(c)
		outputs, _ := spec.Outputs(c)
		in, out := inputs[0], outputs[0]
		_, from := o.Of(c.Pass)
		if o.Copies != nil {
			copiesAreInverse(t, o, c, in, out)
			return
		}
		other := op.Forward
		if c.Pass == op.Forward {
			other = op.Backward
		}
		_, back := o.Of(other)
		place, again := make([]int64, len(in.Shape)), make([]int64, len(out.Shape))
		seen := map[int64]bool{}
		for i := range out.Elements() {
			to := truth.IndexOf(i, out.Shape)
			from(c, to, place)
			for d, n := range in.Shape {
				if place[d] < 0 || place[d] >= n {
					t.Fatalf("%s %v: %v comes from %v of %v", spec.Name, c.Pass, to, place, in.Shape)
				}
			}
			back(c, place, again)
			if !slices.Equal(again, to) {
				t.Fatalf("%s %v: %v comes from %v, which goes to %v", spec.Name, c.Pass, to, place, again)
			}
			seen[truth.PositionOf(place, in.Shape)] = true
		}
		if int64(len(seen)) != in.Elements() {
			t.Errorf("%s %v: %d of %d elements go somewhere", spec.Name, c.Pass, len(seen), in.Elements())
		}
	})
}

// TestTruthIsTheInput: the truth has the bits of the input, whatever its layout, and allows nothing else; a
// sample and a truth by rows have those of the whole.
func TestTruthIsTheInput(t *testing.T) {
	members(t, func(o movement.Operator, spec *op.Spec, c op.Case) {
		in := truthtest.CaseInputs(t, spec, c, 1)
		if o.Copies != nil && c.Pass == op.Backward {
			sumsOfCopies(t, o, c, in)
			return
		}
		whole := truthtest.TruthFor(t, c, spec.DefaultContract(c.DType), in).Outputs[0]
		input, from := o.Of(c.Pass)
		x := truth.Inputs(in).Get(input)
		values, place := x.Float64s(), make([]int64, len(x.Shape))
		for i, r := range whole.R {
			from(c, truth.IndexOf(int64(i), whole.Shape), place)
			if r != values[truth.PositionOf(place, x.Shape)] || whole.T[i] != 0 || whole.Sim[i] != r {
				t.Fatalf("%s %v: element %d is %v +- %v", spec.Name, c.Pass, i, r, whole.T[i])
			}
		}
		if !whole.Bits || whole.Independent || whole.FTZ {
			t.Errorf("%s %v: bits %t, independent %t, flushed %t", spec.Name, c.Pass, whole.Bits,
				whole.Independent, whole.FTZ)
		}
	})
}

// TestRefused checks that invalid inputs of the operator are rejected with a sentence.
func TestRefused(t *testing.T) {
	members(t, func(o movement.Operator, spec *op.Spec, c op.Case) {
		name, _ := o.Of(c.Pass)
		inputs, _ := spec.Inputs(c)
		other := slices.Clone(inputs[0].Shape)
		other[0]++
		for why, in := range map[string][]tensor.Tensor{
			"missing":       nil,
			"another shape": {tensor.New(name, op.FP16, other)},
			"another dtype": {tensor.New(name, op.FP32, inputs[0].Shape)},
		} {
			if _, err := truth.Of(c, spec.DefaultContract(c.DType), in, nil); err == nil {
				t.Errorf("%s %v: an input that is %s is taken", spec.Name, c.Pass, why)
			}
		}
	})
}

// copiesAreInverse checks that the copies of every element of the input come from it, and that there are no
// others.
func copiesAreInverse(t *testing.T, o movement.Operator, c op.Case, in, out op.TensorType) {
	t.Helper()
	if c.Pass == op.Backward {
		in, out = out, in
	}
	to, place := make([]int64, len(out.Shape)), make([]int64, len(in.Shape))
	seen := map[int64]bool{}
	for i := range in.Elements() {
		for number := range o.Copies(c) {
			o.CopyAt(c, number, to, truth.IndexOf(i, in.Shape))
			o.From(c, to, place)
			if got := truth.PositionOf(place, in.Shape); got != i {
				t.Fatalf("%s: copy %d of element %d comes from element %d", c.Op, number, i, got)
			}
			seen[truth.PositionOf(to, out.Shape)] = true
		}
	}
	if int64(len(seen)) != out.Elements() {
		t.Errorf("%s: %d of %d elements are copies", c.Op, len(seen), out.Elements())
	}
}

// sumsOfCopies checks that every element of the gradient is the sum over its copies, to fp64, with an
// error bound where something is added.
func sumsOfCopies(t *testing.T, o movement.Operator, c op.Case, in []tensor.Tensor) {
	t.Helper()
	got := truthtest.TruthFor(t, c, movement.Sums, in).Outputs[0]
	input, _ := o.Of(c.Pass)
	dy := truth.Inputs(in).Get(input)
	values, to := dy.Float64s(), make([]int64, len(dy.Shape))
	for i, r := range got.R {
		want, abs := 0.0, 0.0
		for number := range o.Copies(c) {
			o.CopyAt(c, number, to, truth.IndexOf(int64(i), got.Shape))
			v := values[truth.PositionOf(to, dy.Shape)]
			want, abs = want+v, abs+math.Abs(v)
		}
		truthtest.Near(t, c.Key(), r, want, abs)
		if several := o.Copies(c) > 1; several != (got.T[i] > 0) {
			t.Fatalf("%s: element %d of %d copies: T = %v", c.Op, i, o.Copies(c), got.T[i])
		}
	}
}
