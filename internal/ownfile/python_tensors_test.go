package ownfile

import (
	"strings"
	"testing"

	"triad/internal/catalog"
	"triad/internal/op"
	"triad/internal/ownfile/binding"
)

// A Python file whose lines show that it does not implement the operator is refused with a sentence.
func TestLinesOfAnotherOperator(t *testing.T) {
	added := "def fused(A: torch.Tensor, B: torch.Tensor):\n    C = torch.empty_like(A)\n" +
		"    C.copy_(A + B)\n    return C\n"
	turned := "def turn(x, cos, sin):\n    c = torch.cos(cos)\n" +
		"    return x * c + turned(x) * torch.sin(sin)\n"
	for text, c := range map[string]struct {
		spec *op.Spec
		want string
	}{
		added:  {rowsAndCols(t), "what B stands for is not clear"},
		turned: {withTables(t), "it wants the angles"},
	} {
		_, err := Bind(ReadPython(text, parsed), binding.Request{}, c.spec, []op.Pass{op.Forward},
			binding.Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", text, err, c.want)
		}
	}
}

// withTables returns an operator with tables of cosines and sines.
func withTables(t *testing.T) *op.Spec {
	t.Helper()
	for _, name := range catalog.Names() {
		if s := spec(t, name); len(s.Own.Wide) > 0 {
			return s
		}
	}
	t.Fatal("no operator of tables")
	return nil
}

// A launch hook of Triton is not judged.
func TestLaunchHooksAreLeftOut(t *testing.T) {
	text := "def describe(grid, metadata, args):\n    return {}\n\n\ndef rows(x):\n    return torch.exp(x)\n"
	file := ReadPython(text, parsed)
	bindings, err := Bind(file, binding.Request{}, rowsAndCols(t), []op.Pass{op.Forward}, binding.Options{})
	if err != nil || len(bindings) != 1 || bindings[0].Function.Name != "rows" {
		t.Errorf("%v: %d bindings", err, len(bindings))
	}
}

const guardedScale = `if triton is not None:
    @triton.jit
    def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
        at = tl.arange(0, BLOCK)
        tl.store(y_ptr + at, 2 * tl.load(x_ptr + at, mask=at < n), mask=at < n)
AFTER

def solution(A, C, N: int):
    scale[(1,)](A, y_ptr=C, n=N, BLOCK=1024)
`

// Whatever a kernel loads and stores is a tensor, even if the kernel is defined under a condition.
func TestKernelsSayTensors(t *testing.T) {
	for guard, want := range map[string]bool{
		"if triton is not None:": true, "try:": true, "if HAS_CUDA:  # else none": true, "if False:": false,
	} {
		after := ""
		if guard == "try:" {
			after = "except ImportError:\n    pass\n"
		}
		f := ReadPython(strings.NewReplacer("if triton is not None:", guard, "AFTER", after).
			Replace(guardedScale), parsed)
		fn := f.Functions[len(f.Functions)-1]
		if fn.Name == "scale" {
			fn = f.Functions[0]
		}
		a, c, n := fn.Params[0], fn.Params[1], fn.Params[2]
		if a.Pointer != want || c.Pointer != want || n.Pointer {
			t.Errorf("%s: tensors: %v, %v, %v", guard, a.Pointer, c.Pointer, n.Pointer)
		}
	}
}
