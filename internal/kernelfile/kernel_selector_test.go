package kernelfile

import (
	"errors"
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
)

// A function that chooses one of its kernels by a number is judged once for each; sizes, modes and labels of
// nested switches are no such numbers.
func TestSelectors(t *testing.T) {
	for body, want := range map[string]string{
		"switch (v) { case 1: a(); break; case 2: b(); break; default: exit(1); }": "run#1 run#2",
		"if (v == 0) a(); else if (v == 1) b(); else c();":                         "run#0 run#1",
		"switch (v) { case 1: switch (rows) { case 2: a(); } break; }":             "",
		"switch (v) { case 64: a(); break; case 128: b(); break; }":                "",
		"switch (rows) { case 1: a(); break; case 2: b(); break; }":                "",
		"if (v == 3) a(); else b();":                                               "",
	} {
		text := `extern "C" void run(int v, const float *x, float *y, int rows, int cols) { ` + body + ` }`
		all, err := Bind(cfacts.ReadCUDA(text), Request{}, rowsAndCols(t), []op.Pass{op.Forward}, Options{})
		several := &SeveralError{}
		if errors.As(err, &several) != (want != "") || strings.Join(several.Names, " ") != want {
			t.Errorf("%s: %v and %v, want %q", body, all, err, want)
		}
	}
}

// FILE:function#2 passes the number 2, and one that no kernel has is refused.
func TestSelectorIsPassed(t *testing.T) {
	const text = `extern "C" void run(int v, const float *x, float *y, int rows, int cols) {
	switch (v) { case 1: a(); break; case 2: b(); break; } }
extern "C" void plain(const float *x, float *y, int rows, int cols) { }`
	bind := func(request string) ([]*Binding, error) {
		r, err := ParseRequest(request)
		if err != nil {
			t.Fatal(err)
		}
		return Bind(cfacts.ReadCUDA(text), r, rowsAndCols(t), []op.Pass{op.Forward}, Options{})
	}
	all, err := bind("mine.cu:run#2")
	if err != nil {
		t.Fatal(err)
	}
	shim := CUDAShim("mine.cu", "mine/mine:run#2", all)
	if given := givenIn(t, all[0]); !strings.Contains(given, "slot 0 is 2\n") {
		t.Errorf("2 is not passed:\n%s%s", shim, given)
	}
	if said := all[0].Describe(); !strings.Contains(said, "v is 2, which chooses the kernel") {
		t.Error(said)
	}
	for request, want := range map[string]string{
		"mine.cu:run#7":   "v chooses no kernel by 7: want run#1 to run#2",
		"mine.cu:run#x":   "v chooses no kernel by x",
		"mine.cu:plain#1": "it does not choose between kernels by a number",
	} {
		if _, err := bind(request); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", request, err, want)
		}
	}
}
