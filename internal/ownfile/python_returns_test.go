package ownfile

import (
	"slices"
	"strings"
	"testing"

	"triad/internal/catalog"
	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/shim"
)

// returnsOf binds a function with these last lines, for the operator of the catalog with these outputs.
func returnsOf(t *testing.T, outputs, lines string) *binding.Binding {
	t.Helper()
	r := binding.Request{Path: "mine.py", Parse: parsed}
	for _, o := range catalog.All() {
		var names, parameters []string
		for _, out := range o.Spec.OutputSpecs {
			names = append(names, out.Name)
		}
		if strings.Join(names, " ") != outputs {
			continue
		}
		for _, in := range o.Spec.InputSpecs {
			parameters = append(parameters, in.Name)
		}
		text := "import torch\n\n\ndef f(" + strings.Join(parameters, ", ") + ", k=1):\n    " +
			strings.ReplaceAll(lines, "\n", "\n    ") + "\n"
		all, err := Bind(Read(r, text, nil), r, o.Spec, []op.Pass{op.Forward}, binding.Options{})
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		return all[0]
	}
	t.Fatalf("no operator has the outputs %s", outputs)
	return nil
}

// Outputs that identify an operator.
const (
	numbers = "q scale zero"
	chosen  = "values indices"
	normal  = "y mean rstd"
)

// The names in the return of a Python function say which outputs it returns, and in which order.
func TestWhatIsReturnedByName(t *testing.T) {
	for _, c := range []struct{ outputs, lines, gives, places string }{
		{numbers, "return q, scale", "q scale", "0, 1,"},
		{numbers, "return (scale, q.to(torch.int8))", "q scale", "1, 0,"},
		{numbers, "return scale, torch.round(x / scale)", "q scale", "1, 0,"},
		{numbers, "return x.a(), x.b()", "q scale", ""},
		{chosen, "return values, indices", "values indices", "0, 1,"},
		{chosen, "return indices, values", "values indices", "1, 0,"},
		{chosen, "return values[:, :k], indices[:, :k] + 1", "values indices", "0, 1,"},
		{chosen, "return torch.topk(x, k)", "values", ""},
		{chosen, "if k == 0:\n    return values\nreturn values, indices", "values", ""},
		{normal, "return (x - mean) * rstd, mean, rstd", "y mean rstd", "0, 1, 2,"},
		{normal, "return y, mu, sigma", "y", "0,"},
	} {
		b := returnsOf(t, c.outputs, c.lines)
		if got := strings.Join(shim.GivenNames(b), " "); got != c.gives {
			t.Errorf("%s: %s gives %q, want %q", c.outputs, c.lines, got, c.gives)
		}
		if got := shim.ReturnedPlaces(b); got != c.places {
			t.Errorf("%s: %s returns them as %q, want %q", c.outputs, c.lines, got, c.places)
		}
	}
}

// Additional values that a function may return are judged where a call identifies them: integers without a
// telling name.
func TestWhatMayBeReturned(t *testing.T) {
	for _, c := range []struct{ outputs, lines, perhaps string }{
		{chosen, "return torch.topk(x, k)", "indices"},
		{chosen, "return values, indices", ""}, // its name says it
		{numbers, "return q, scale, zero", "zero"},
		{normal, "return y, mu, sigma", ""},
	} {
		b := returnsOf(t, c.outputs, c.lines)
		want := `perhaps=(` + c.perhaps + `)`
		if c.perhaps != "" {
			want = `perhaps=("` + c.perhaps + `",)`
		}
		if text := shim.PythonShim("mine.py", "mine", []*binding.Binding{b}); !strings.Contains(text, want) {
			t.Errorf("%s: %s: no %s in\n%s", c.outputs, c.lines, want, text)
		}
	}
}

// The operand of an extreme decides whether there is a scale for each row.
func TestExtremesOfRowsInPython(t *testing.T) {
	for lines, want := range map[string]string{
		"s = x.abs().amax(dim=-1, keepdim=True)":                      "row",
		"s = x.abs().max(1)[0]":                                       "row",
		"s = x.abs().max(dim=-1, keepdim=True).values":                "row",
		"s = x.abs().max()":                                           "tensor",
		"s = x.abs().amax(dim=1).amax()":                              "",
		"s = x.abs().amax(dim=0)":                                     "",
		"s = x.abs().amax(dim=(0, 1))":                                "",
		"s = torch.empty((x.shape[0], 1), device=x.device)":           "row",
		"s = torch.empty(x.shape[0], device=x.device)":                "row",
		"s = torch.zeros(1, device=x.device)":                         "tensor",
		"s = x.new_empty((1,), dtype=torch.float32)":                  "tensor",
		"s = x.sum(dim=1)":                                            "",
		"s = torch.amax(x.abs().float(), 1)":                          "row",
		"s = torch.max(torch.abs(x))":                                 "tensor",
		"s = torch.max(x.abs(), torch.ones_like(x))":                  "",
		"assert x.max() < 9\ns = torch.amax(x.abs(), 1)":              "",
		"assert x.max() < 9\ns = torch.empty(x.shape[0])":             "",
		"s = torch.zeros(1)\nm = x.amax(dim=1)":                       "",
		"# x.abs().amax(dim=1)\ns = x.abs().max().clamp_min(1e-8)[0]": "tensor",
	} {
		b := returnsOf(t, numbers, lines+"\nreturn q, s")
		if got := b.Named["per"]; got != want {
			t.Errorf("%s: per is %q, want %q", lines, got, want)
		}
		guesses := slices.ContainsFunc(Assumptions(b),
			func(a binding.Assumption) bool { return a.Attribute == "per" })
		if guesses != (want == "") {
			t.Errorf("%s: per is assumed: %v", lines, guesses)
		}
	}
}
