package ownfile

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/declared"
	"triad/internal/ownfile/extents"
	"triad/internal/ownfile/params"
	"triad/internal/ownfile/shim"
)

// callOfCase returns the call of a case of an operator.
func callOfCase(t *testing.T, s *op.Spec, c op.Case) binding.Call {
	t.Helper()
	inputs, err := s.Inputs(c)
	if err != nil {
		t.Fatal(err)
	}
	outputs, err := s.Outputs(c)
	if err != nil {
		t.Fatal(err)
	}
	call := binding.Call{Inputs: inputs, Outputs: outputs}
	for _, a := range c.Attrs {
		call.Attributes = append(call.Attributes, a.Number)
	}
	return call
}

// givenIn returns the words of a function in the largest quick case that it takes, with a line for each slot
// and copy.
func givenIn(t *testing.T, b *binding.Binding) (text string) {
	t.Helper()
	o := op.Options{
		Level: op.LevelQuick, Passes: []op.Pass{b.Pass}, Dims: params.Fixed(b), DTypes: b.DTypes()[:1],
		Attributes: b.Pins(), Equal: extents.Equal(b), Layouts: []string{"contiguous"},
	}
	plan, err := b.Spec.Expand(o)
	if err != nil {
		t.Fatal(err)
	}
	most := int64(0)
	for _, c := range plan.Cases {
		n, sizes := int64(1), map[int64]bool{}
		for _, d := range c.Dims {
			n *= d.Value
			sizes[d.Value] = true
		}
		words, why := shim.Words(b, callOfCase(t, b.Spec, c))
		if n <<= 8 * len(sizes); why == "" && n > most { // of many sizes, which can be told apart
			most, text = n, inLines(words)
		}
	}
	if most == 0 {
		t.Fatalf("%s takes none of %d cases", b.Function.Name, len(plan.Cases))
	}
	return text
}

func inLines(words []int64) string {
	var text strings.Builder
	fmt.Fprintf(&text, "workspace %d, takes %b\n", words[0], words[1])
	place := func(w []int64) string {
		name := []string{"", "in %d", "out %d", "work"}[w[0]]
		if w[0] == shim.NoPlace {
			return fmt.Sprint(w[2])
		}
		if w[0] != shim.OfWorkspace {
			name = fmt.Sprintf(name, w[1])
		}
		if w[2] == 0 {
			return name
		}
		return fmt.Sprintf("%s + %d", name, w[2])
	}
	at := 3
	for i := range words[2] {
		real := ""
		if x := math.Float64frombits(uint64(words[at+3])); words[at] == shim.NoPlace &&
			x != float64(words[at+2]) {
			real = fmt.Sprintf(" or %g", x)
		}
		fmt.Fprintf(&text, "slot %d is %s%s\n", i, place(words[at:]), real)
		at += 4
	}
	for at < len(words) {
		n := words[at]
		at++
		for range n {
			what := "zeros"
			if words[at+3] != shim.NoPlace {
				what = place(words[at+3:])
			}
			fmt.Fprintf(&text, "%s to %s, %v times %d bytes, every %v from every %v\n", what,
				place(words[at:]), words[at+6:at+9], words[at+15], words[at+9:at+12], words[at+12:at+15])
			at += 16
		}
		text.WriteString("end of copies\n")
	}
	return text.String()
}

// All interpretations of a function share one text, and so one library: they differ in the words of a call.
func TestOneShimServesAllInterpretations(t *testing.T) {
	forms := readTable[formCases](t, "forms.toml").Forms
	c := forms[slices.IndexFunc(forms, func(f form) bool { return f.Name == "sizes in any order" })]
	bind := func(o binding.Options) (*binding.Binding, error) {
		all, err := Bind(cfacts.ReadCUDA(c.Text), binding.Request{}, spec(t, c.Operator),
			[]op.Pass{op.Forward}, o)
		if err != nil {
			return nil, err
		}
		return all[0], nil
	}
	first, err := bind(binding.Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := shim.CUDAShim("mine.cu", "mine", []*binding.Binding{first})
	interpretations, ways := 0, map[string]bool{givenIn(t, first): true}
	for _, other := range Alternatives(first) {
		b, err := bind(binding.Options{}.With(other))
		if err != nil {
			continue
		}
		interpretations++
		if now := shim.CUDAShim("mine.cu", "mine", []*binding.Binding{b}); now != text {
			t.Errorf("%s is another library:\n%s", other.Flags, now)
		}
		way := givenIn(t, b)
		ways[way] = true
		if declared.SameAs(first, b) && way != givenIn(t, first) {
			t.Errorf("%s is taken for the first interpretation", other.Flags)
		}
	}
	if interpretations < 10 || len(ways) < 8 {
		t.Errorf("%d interpretations, called in %d ways", interpretations, len(ways))
	}
}

// A call that a signature cannot express is declined, with the first sentence that holds.
func TestWordsDecline(t *testing.T) {
	s := rowsAndCols(t)
	text := "extern \"C\" void solve(const float* x, float* y, int rows) { y[0] = x[0]; }"
	all, err := Bind(cfacts.ReadCUDA(text), binding.Request{}, s, []op.Pass{op.Forward},
		binding.Options{Dims: map[string]int64{"cols": 7}})
	if err != nil {
		t.Fatal(err)
	}
	shim.CUDAShim("mine.cu", "mine", all)
	for want, change := range map[string]func(c *binding.Call){
		"":                    func(*binding.Call) {},
		"x is not contiguous": func(c *binding.Call) { c.Gaps = []string{"x"} },
		"solve has no parameter for cols: it is judged with --dims cols=7": func(c *binding.Call) {
			c.Inputs[0].Shape = []int64{3, 5}
		},
		"files added with --add are not judged where rows is 0 and something must be written": func(
			c *binding.Call,
		) {
			c.Inputs[0].Shape = []int64{0, 7}
		},
		"y is fp32 in solve": func(c *binding.Call) { c.Outputs[0].DType = op.BF16 },
	} {
		c := binding.Call{
			Inputs:  []op.TensorType{{Name: "x", DType: op.FP32, Shape: []int64{3, 7}}},
			Outputs: []op.TensorType{{Name: "y", DType: op.FP32, Shape: []int64{3, 7}}},
		}
		change(&c)
		words, why := shim.Words(all[0], c)
		if why != want || (len(words) > 0) != (want == "") {
			t.Errorf("want %q, got %q, %d words", want, why, len(words))
		}
	}
	one := [3]string{"1", "1", "1"}
	all[0].Launch = &binding.Launch{Grid: [3]string{"many(rows)", "1", "1"}, Block: one, Shared: "0"}
	shim.CUDAShim("mine.cu", "mine", all)
	_, why := shim.Words(all[0], binding.Call{
		Inputs:  []op.TensorType{{Name: "x", DType: op.FP32, Shape: []int64{3, 7}}},
		Outputs: []op.TensorType{{Name: "y", DType: op.FP32, Shape: []int64{3, 7}}},
	})
	if !strings.HasPrefix(why, "triad cannot call solve: expression") {
		t.Error(why)
	}
}
