package ownfile

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"triad/internal/catalog"
	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
)

func TestABackwardIsFoundByItsName(t *testing.T) {
	text := `extern "C" void softmax_forward(const float* x, float* y, int rows, int cols) {}
extern "C" void softmax_backward(const float* y, const float* dy, float* dx, int rows, int cols) {}`
	all, err := Bind(cfacts.ReadCUDA(text), binding.Request{}, spec(t, "softmax"),
		[]op.Pass{op.Forward, op.Backward},
		binding.Options{})
	if err != nil || len(all) != 2 {
		t.Fatal(all, err)
	}
	if got, want := all[1].Matched(),
		"y is y, dy is grad_y, dx is grad_x, rows is rows, cols is cols"; got != want {
		t.Errorf("matched %q, want %q", got, want)
	}
}

// If one of several functions has the operator's name, those without it are others.
func TestFunctionOfTheOperatorsName(t *testing.T) {
	s := rowsAndCols(t)
	fast := s.Name + "_fast"
	for first, want := range map[string]string{s.Name: s.Name + " " + fast, "f": "f mean " + fast} {
		text := ""
		for _, name := range []string{first, "mean", fast} {
			text += "def " + name + "(x):\n    return x\n"
		}
		r := binding.Request{Path: "mine.py", Parse: parsed}
		var several *SeveralError
		if _, err := Bind(Read(r, text, nil), r, s, s.Passes(), binding.Options{}); !errors.As(err,
			&several) {
			t.Fatal(err)
		}
		if got := strings.Join(several.Names, " "); got != want {
			t.Errorf("judged %q, want %q", got, want)
		}
	}
	r := binding.Request{Path: "mine.py", Parse: parsed}
	text := "def mean(x):\n    return x\n\ndef " + s.Name + "(x):\n    return x\n"
	bindings, err := Bind(Read(r, text, nil), r, s, s.Passes(), binding.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := "not judged, since " + s.Name + " has the operator's name: mean (--add FILE:NAME judges one)"
	if got := Describe(bindings[0]); !strings.Contains(got, want) {
		t.Errorf("%q lacks %q", got, want)
	}
}

// Where no function can be read, the syntax error says why.
func TestSyntaxErrorIsReported(t *testing.T) {
	s := rowsAndCols(t)
	r := binding.Request{Path: "mine.py", Parse: parsed}
	text := "import torch\ndef " + s.Name + "(x)\n    return x\n"
	_, err := Bind(Read(r, text, nil), r, s, s.Passes(), binding.Options{})
	if err == nil || !strings.Contains(err.Error(), "Python cannot parse it: line 2, column ") {
		t.Error(err)
	}
}

// A file with only drivers, which make the tensors themselves, has no function to judge; next to another
// function they are left out.
func TestDriversAreNotJudged(t *testing.T) {
	s := rowsAndCols(t)
	r := binding.Request{Path: "mine.py", Parse: parsed}
	drivers := ""
	for _, name := range []string{"run_benchmark", "softmax_test", "runDemo"} {
		drivers += "def " + name + "(x, y):\n    return x\n\n"
	}
	_, err := Bind(Read(r, drivers, nil), r, s, s.Passes(), binding.Options{})
	if err == nil || !strings.Contains(err.Error(), "no function to judge") {
		t.Errorf("of drivers alone: %v", err)
	}
	text := drivers + "def contest(x):\n    return x\n"
	bindings, err := Bind(Read(r, text, nil), r, s, []op.Pass{op.Forward}, binding.Options{})
	if err != nil || len(bindings) != 1 || bindings[0].Function.Name != "contest" {
		t.Errorf("beside another function: %v, %v", bindings, err)
	}
}

// A backward that cannot be matched does not keep the forward from being judged, unless it is asked for.
func TestForwardBesideABackwardThatDoesNotFit(t *testing.T) {
	s := rowsAndCols(t)
	text := "extern \"C\" void " + s.Name + "_forward(const float* x, float* y, int rows, int cols) {}\n" +
		"extern \"C\" void " + s.Name + "_backward(const float* y, Handle h) {}"
	passes := []op.Pass{op.Forward, op.Backward}
	all, err := Bind(cfacts.ReadCUDA(text), binding.Request{}, s, passes, binding.Options{})
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	if got := Describe(all[0]); !strings.Contains(got, "its backward is not judged: line 2") {
		t.Error(got)
	}
	_, err = Bind(cfacts.ReadCUDA(text), binding.Request{Pass: op.Backward}, s, passes, binding.Options{})
	if err == nil {
		t.Error("a backward that is asked for and does not fit is left out")
	}
}

// A reference that other functions are compared with is not judged if the file has others; alone it is.
func TestReferencesAreLeftOut(t *testing.T) {
	s := rowsAndCols(t)
	r := binding.Request{Path: "mine.py", Parse: parsed}
	const reference = "def torch_reference(x):\n    return x\n"
	all, err := Bind(Read(r, reference+"\ndef mine(x):\n    return x\n", nil), r, s, s.Passes(),
		binding.Options{})
	if err != nil || all[0].Function.Name != "mine" ||
		!strings.Contains(Describe(all[0]), "torch_reference") {
		t.Errorf("%v, error %v: want mine, and the other one named", all, err)
	}
	all, err = Bind(Read(r, reference, nil), r, s, s.Passes(), binding.Options{})
	if err != nil || all[0].Function.Name != "torch_reference" {
		t.Errorf("%v, error %v: want the only function", all, err)
	}
}

// A file with only a backward stays one: the kernels that it launches are no forward, whatever their names
// are. A kernel that nothing launches may be one.
func TestABackwardAlone(t *testing.T) {
	const backward = `__global__ void dots_kernel(const float *y, const float *dy, float *dots, int cols) {}
__global__ void scale(const float *y, const float *dy, const float *dots, float *dx, int cols) {}
extern "C" void row_backward(const float *y, const float *dy, float *dx, int rows, int cols) {
    float *dots;
    cudaMalloc(&dots, rows * sizeof(float));
    dots_kernel<<<rows, 256>>>(y, dy, dots, cols);
    scale<<<rows, 256>>>(y, dy, dots, dx, cols);
}
`
	const forward = "__global__ void soft(const float *x, float *y, int rows, int cols) {}\n"
	for text, want := range map[string]string{
		backward: "row_backward", forward + backward: "soft row_backward",
		strings.ReplaceAll(backward, "scale", "scale_backward"): "row_backward",
	} {
		all, err := Bind(cfacts.ReadCUDA(text), binding.Request{}, rowsAndCols(t),
			[]op.Pass{op.Forward, op.Backward},
			binding.Options{})
		var names []string
		for _, b := range all {
			names = append(names, b.Function.Name)
		}
		if got := strings.Join(names, " "); err != nil || got != want {
			t.Errorf("functions %q, %v: want %q", got, err, want)
		}
	}
}

// A kernel that a backward launches is a forward if its name says so, or if the names of the other kernels
// say that they are the backward.
func TestForwardThatABackwardLaunches(t *testing.T) {
	const file = `__global__ void FORWARD(const float *x, float *y, int rows, int cols) {}
__global__ void BACKWARD(const float *y, const float *dy, float *dx, int rows, int cols) {}
void test_backward(const float *x, float *y, const float *dy, float *dx, int rows, int cols) {
    FORWARD<<<rows, 256>>>(x, y, rows, cols);
    BACKWARD<<<rows, 256>>>(y, dy, dx, rows, cols);
}
`
	for _, name := range []string{"soft_forward", "softFwd", "soft"} {
		for back, want := range map[string]bool{"soft_backward": true, "scale": name != "soft"} {
			text := strings.NewReplacer("FORWARD", name, "BACKWARD", back).Replace(file)
			all, err := Bind(cfacts.ReadCUDA(text), binding.Request{}, rowsAndCols(t),
				[]op.Pass{op.Forward, op.Backward},
				binding.Options{})
			has := slices.ContainsFunc(all, func(b *binding.Binding) bool { return b.Function.Name == name })
			if has != want {
				t.Errorf("%s beside %s: judged %v, error %v: want %v", name, back, has, err, want)
			}
		}
	}
}

// A function that draws its own random numbers is judged if it takes their seed and has a gradient.
func TestOwnRandomNumbers(t *testing.T) {
	all := catalog.All()
	o := all[slices.IndexFunc(all, func(o *catalog.Operator) bool { return o.Spec.Own.Seed != "" })]
	const forward = "def dropout(x, p, seed):\n    return x\n"
	const backward = "\ndef dropout_backward(dy, p, seed):\n    return dy\n"
	for text, want := range map[string]bool{
		forward + backward: true,
		forward:            false,
		strings.ReplaceAll(forward+backward, ", seed", ""): false,
	} {
		r := binding.Request{Path: "mine.py", Parse: parsed}
		all, err := Bind(Read(r, text, nil), r, o.Spec, o.Spec.Passes(), binding.Options{})
		if (err == nil) != want || want && (len(all) != 2 || all[0].Draws != o.Spec.Own.Lacks) {
			t.Errorf("%q: %v, error %v", text, all, err)
		}
		if err != nil && !strings.Contains(err.Error(), o.Spec.Own.Lacks) {
			t.Error(err)
		}
	}
}

// A file of thousands of kernels is read, and one is found by its name. Work that grows with the square of
// their number would take so long that the test counts as hanging.
func TestThousandsOfKernels(t *testing.T) {
	var text strings.Builder
	for i := range 10000 {
		fmt.Fprintf(&text, "__global__ void k%d(const float *x, float *y, int rows, int cols) {}\n", i)
	}
	s := rowsAndCols(t)
	file := cfacts.ReadCUDA(text.String())
	all, err := Bind(file, binding.Request{Function: "k77"}, s, []op.Pass{op.Forward}, binding.Options{})
	if err != nil || len(all) != 1 || all[0].Function.Name != "k77" {
		t.Error(all, err)
	}
	if n := len(file.KernelsNotLaunched()); n != 10000 {
		t.Errorf("%d kernels are not launched, want all", n)
	}
	_, err = Bind(file, binding.Request{}, s, []op.Pass{op.Forward}, binding.Options{})
	says := "10000 functions could be " + s.Name + " forward: say which"
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Error(err)
	}
}

// Where the function that launches cannot be called, its kernels are judged, unless C calls it.
func TestKernelsBesideALauncher(t *testing.T) {
	const kernel = "__global__ void k(const float *x, float *y, int rows, int cols) " +
		"{ for (int c = threadIdx.x; c < cols; c += blockDim.x) " +
		"y[blockIdx.x * cols + c] = x[blockIdx.x * cols + c]; }\n"
	const launcher = "void run(void (*f)(const float *, float *, int, int), const float *x, float *y, " +
		"int rows, int cols) { f<<<rows, 256>>>(x, y, rows, cols); }\n"
	for text, want := range map[string]string{
		kernel + launcher:                   "k",
		kernel + "extern \"C\" " + launcher: "",
	} {
		all, err := Bind(cfacts.ReadCUDA(text), binding.Request{}, rowsAndCols(t), []op.Pass{op.Forward},
			binding.Options{})
		switch {
		case want == "" && err == nil:
			t.Errorf("%s is taken, and C calls another function", all[0].Function.Name)
		case want != "" && (err != nil || all[0].Function.Name != want):
			t.Errorf("%v, want %s", err, want)
		}
	}
}
