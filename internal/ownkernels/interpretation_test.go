package ownkernels

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"triad/internal/catalog"
	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/pyparser"
	"triad/internal/worker"
)

// rowsOperator is the operator that most of the files compute.
const rowsOperator = "softmax"

const (
	softmax = `extern "C" void solve(const float* x, float* y, int rows, int cols) { k<<<rows, ` +
		`256>>>(x, y, cols); }`
	attention = `extern "C" void solve(const float* q, const float* k, const float* v, float* o, int B, ` +
		`int H, int T, int D) {}`
)

// parsed returns the facts of a Python text.
var parsed = pyparser.New(pyparser.OfPATH)

// interpretation returns the interpretation of a file with this text for an operator of the catalog; its
// workers start nothing.
func interpretation(t *testing.T, name, file, text string) Interpretation {
	t.Helper()
	o, err := catalog.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), file)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return Interpretation{
		Request: path, Spec: o.Spec, Passes: []op.Pass{op.Forward, op.Backward},
		Workers: Workers{
			CUDA:   func() *worker.Adapter { return &worker.Adapter{} },
			Python: func(string) *worker.Adapter { return &worker.Adapter{} },
			Cache:  t.TempDir(), Parse: parsed,
		},
	}
}

func read(t *testing.T, r Interpretation) *File {
	t.Helper()
	f, err := r.Read()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// A .cu becomes a shim in the cache that includes it by a relative path. Another text of the file is another
// version with the same shim; other flags give another shim.
func TestReadWritesTheShim(t *testing.T) {
	r := interpretation(t, rowsOperator, "mine.cu", softmax)
	first := read(t, r)
	shim, err := os.ReadFile(first.shim)
	if err != nil {
		t.Fatal(err)
	}
	include, err := filepath.Rel(filepath.Dir(first.shim), first.Path)
	if err != nil {
		t.Fatal(err)
	}
	if first.Name != "mine/mine.cu" || !strings.Contains(string(shim), `#include "`+include+`"`) {
		t.Errorf("%s has the shim\n%s", first.Name, shim)
	}
	if !slices.Equal(first.launchLines, []int{1}) || !slices.Equal(first.Covers.DTypes, []string{"fp32"}) {
		t.Errorf("launches in %v, want line 1; dtypes %v, want fp32", first.launchLines, first.Covers.DTypes)
	}
	if err := os.WriteFile(first.Path, []byte(softmax+"\n// edited\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	second := read(t, r)
	if second.source == first.source || second.shim != first.shim {
		t.Errorf("an edited file: source %s after %s, shim %s after %s", second.source, first.source,
			second.shim, first.shim)
	}
	r.Options.Flags = []string{"-DTILE=32"}
	if third := read(t, r); third.source != second.source || third.shim == second.shim {
		t.Error("with other flags the file is another version, or it is compiled in the same place")
	}
}

// Every version of a .py is called by the operator file in the same folder.
func TestReadWritesThePythonFile(t *testing.T) {
	r := interpretation(t, rowsOperator, "mine.py", "import triton\n\n\n@triton.jit\ndef rows(x):\n    "+
		"pass\n\n\ndef solve(x):\n    rows[(1,)](x)\n    return x\n")
	first := read(t, r)
	if filepath.Base(first.shim) != rowsOperator+".py" || !first.IsPython() || !first.interpreted {
		t.Errorf("%+v", first)
	}
	if err := os.WriteFile(first.Path, []byte("def solve(x):\n    return x + 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	second := read(t, r)
	if second.shim != first.shim || second.source == first.source || second.interpreted {
		t.Errorf("after an edit %+v", second)
	}
	r.Workers.GPU = true
	if read(t, r).interpreted {
		t.Error("on a GPU Triton is not interpreted")
	}
	// a function that calls no kernel of its file belongs to the library, though the file has kernels
	const kernel = "import triton\n\n\n@triton.jit\ndef rows(x):\n    pass\n\n\n"
	for body, want := range map[string]bool{
		"def solve(x):\n    rows[(1,)](x)\n    return x\n":                                      true,
		"def _launch(x):\n    rows[(1,)](x)\n\n\ndef solve(x):\n    _launch(x)\n    return x\n": true,
		"def solve(x):\n    return x.softmax(-1)  # rows\n":                                     false,
	} {
		f := read(t, interpretation(t, rowsOperator, "mine.py", kernel+body))
		if f.launches != want || f.interpreted != want {
			t.Errorf("%s: launches is %v, interpreted is %v, want %v", body, f.launches, f.interpreted, want)
		}
	}
}

// Threads that share memory without any barrier are detected.
func TestReadSeesAMissingBarrier(t *testing.T) {
	for body, want := range map[string]bool{
		"__shared__ float s[32];":                  true,
		"__shared__ float s[32]; __syncthreads();": false, "": false,
	} {
		text := "__global__ void softmax(const float* x, float* y, int rows, int cols) { int i = " +
			"threadIdx.x; " + body + " }"
		if f := read(t, interpretation(t, rowsOperator, "mine.cu", text)); f.NoBarrier != want {
			t.Errorf("%q: no barrier is %v, want %v", body, f.NoBarrier, want)
		}
	}
}

// An error that the user can correct is a usage error that names the words of --add.
func TestReadRefuses(t *testing.T) {
	for name, c := range map[string]struct{ file, text, says string }{
		"no function": {"mine.cu", "int x;", "it has no function to judge"},
	} {
		r := interpretation(t, rowsOperator, c.file, c.text)
		_, err := r.Read()
		var u *op.UsageError
		if !errors.As(err, &u) || !strings.Contains(u.Message, c.says) ||
			!strings.HasPrefix(u.Message, "--add "+r.Request) {
			t.Errorf("%s: %v", name, err)
		}
	}
	r := interpretation(t, rowsOperator, "mine.cu", softmax)
	r.Request = filepath.Join(t.TempDir(), "nowhere.cu")
	if _, err := r.Read(); err == nil || !strings.Contains(err.Error(),
		"cannot read the file: no such file or directory") {
		t.Errorf("a missing file: %v", err)
	}
}

// An attribute that neither a parameter nor --attr gives is assumed; the file can be reread with its other
// value.
func TestAssumedAttributes(t *testing.T) {
	r := interpretation(t, "flash_attention", "mine.cu", attention)
	f := read(t, r)
	if got := f.Assumed(); !maps.EqualFunc(got, map[string][]string{"causal": {"true"}}, slices.Equal) {
		t.Errorf("assumed %v, want causal with the other value true", got)
	}
	other, err := f.WithAttribute("causal", "true")
	if err != nil || other.Covers.Pins["causal"] != "true" || f.Covers.Pins["causal"] != "false" {
		t.Errorf("%v: judged with causal = %s beside %s", err, other.Covers.Pins["causal"],
			f.Covers.Pins["causal"])
	}
	r.Options = binding.Options{Attrs: map[string]string{"causal": "true"}}
	if got := read(t, r).Assumed(); len(got) != 0 {
		t.Errorf("with --attr causal=true assumed %v", got)
	}
}

// The cases are narrowed to those of the added files, unless the user requested others.
func TestNarrow(t *testing.T) {
	b := &Backend{Files: []*File{read(t, interpretation(t, "flash_attention", "mine.cu", attention))}}
	var o op.Options
	b.Narrow(&o)
	if !slices.Equal(o.Passes, []op.Pass{op.Forward}) || !slices.Equal(o.DTypes, []string{"fp32"}) ||
		o.Attributes["causal"] != "false" {
		t.Errorf("%+v", o)
	}
	if want := [][]string{{"heads_q", "heads_kv"}, {"seq_q", "seq_kv"}}; !slices.EqualFunc(o.Equal, want,
		slices.Equal) {
		t.Errorf("equal sizes %v, want %v", o.Equal, want)
	}
	o = op.Options{
		Passes: []op.Pass{op.Backward}, DTypes: []string{"bf16"},
		Attributes: map[string]string{"causal": "true"},
	}
	b.Narrow(&o)
	if !slices.Equal(o.Passes, []op.Pass{op.Backward}) || !slices.Equal(o.DTypes, []string{"bf16"}) ||
		o.Attributes["causal"] != "true" {
		t.Errorf("what was asked for became %+v", o)
	}
}

// A backward that goes through its forward is judged after that, one that takes saved tensors after triad's
// forward if its file has none, and several files after both if they differ.
func TestNarrowSavedTensors(t *testing.T) {
	const recomputing = "import torch\n\n\nclass F(torch.autograd.Function):\n    @staticmethod\n" +
		"    def forward(ctx, x):\n        return x\n\n    @staticmethod\n" +
		"    def backward(ctx, g):\n        return g\n\n\ndef softmax(x):\n    return F.apply(x)\n"
	const saved = "import torch\n\n\ndef softmax_backward(y, grad_y):\n    return y * grad_y\n"
	of := func(text string) *File {
		r := interpretation(t, rowsOperator, "f.py", text)
		r.Passes = []op.Pass{op.Backward}
		return read(t, r)
	}
	for _, c := range []struct {
		files []*File
		want  []string
	}{
		{[]*File{of(recomputing)}, []string{"own"}},
		{[]*File{of(saved)}, []string{"driver"}},
		{[]*File{of(saved), of(recomputing)}, nil},
	} {
		var o op.Options
		(&Backend{Files: c.files}).Narrow(&o)
		if !slices.Equal(o.SavedFrom, c.want) {
			t.Errorf("saved tensors from %v, want %v", o.SavedFrom, c.want)
		}
	}
}
