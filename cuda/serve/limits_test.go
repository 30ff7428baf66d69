package serve

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"triad"
	"triad/cuda/cudatest"
	"triad/internal/backend"
	"triad/internal/catalog"
	"triad/internal/op"
	"triad/internal/tensor"
)

// openedKernels builds a kernel file of testdata/worker for the emulator, and returns its kernels.
func openedKernels(t *testing.T, file string) []*kernel {
	t.Helper()
	cudatest.NeedCompiler(t)
	at, err := filepath.Abs(filepath.Join("testdata", "worker", file))
	if err != nil {
		t.Fatal(err)
	}
	s := &server{device: NewEmulator(triad.Files, testCache), specs: catalogSpec}
	_, all, err := s.open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// limited lists the kernels of testdata/worker/limits.cu: their limits, a call that each takes, and one that
// it refuses.
var limited = []struct {
	variant, constraint string
	taken               backend.TensorRef
	refused             backend.TensorRef
	why                 string
}{
	{"contiguous", "x contiguous", matrix("x", 4, 8, 8), matrix("x", 4, 8, 9), "x is not contiguous"},
	{
		"all_contiguous", "tensors contiguous", matrix("x", 4, 8, 8), matrix("x", 4, 8, 9),
		"x is not contiguous",
	},
	{
		"columns", "columns contiguous", matrix("x", 4, 8, 9), apart(),
		"the columns of x have stride 2, not 1",
	},
	{
		"stepped", "strides of tensors a multiple of 8", matrix("x", 4, 8, 16), matrix("x", 4, 8, 12),
		"x has stride 12, not a multiple of 8",
	},
	{
		"vectors", "cols a multiple of the elements in 16 bytes (4 in fp32, 8 in fp16 and bf16), " +
			"rows of x aligned to 16 bytes", matrix("x", 4, 8, 8), matrix("x", 4, 7, 8),
		"cols 7 is not a multiple of 8",
	},
	{
		"most", "cols <= 1024", matrix("x", 1, 1024, 1024), matrix("x", 1, 1025, 1025),
		"cols 1025 is more than 1024",
	},
	{"least", "cols >= 3", matrix("x", 1, 3, 3), matrix("x", 1, 2, 2), "cols 2 is less than 3"},
	{
		"multiple", "rows a multiple of 4", matrix("x", 4, 1, 1), matrix("x", 6, 1, 1),
		"rows 6 is not a multiple of 4",
	},
	{
		"several", "columns contiguous; cols <= 1024", matrix("x", 1, 1024, 2000),
		matrix("x", 1, 1025, 2000), "cols 1025 is more than 1024",
	},
	{
		"own", "an even number of rows", matrix("x", 4, 1, 1), matrix("x", 5, 1, 1),
		"the number of rows is odd",
	},
	{"by_function", "one row", matrix("x", 1, 5, 5), matrix("x", 2, 5, 5), "more than one row"},
	{"plain", "", matrix("x", 1, 5, 5), matrix("x", 2, 5, 5), "more than one row"},
}

// apart returns a matrix whose columns are not adjacent.
func apart() backend.TensorRef {
	x := matrix("x", 4, 8, 20)
	x.Stride[1] = 2
	return x
}

// matrix returns a bf16 matrix with a row stride in elements.
func matrix(name string, rows, cols, stride int64) backend.TensorRef {
	return backend.TensorRef{
		Name: name, DType: op.BF16, Shape: []int64{rows, cols}, Stride: []int64{stride, 1},
	}
}

func TestLimits(t *testing.T) {
	found := limitedKernels(t)
	for _, c := range limited {
		k := found[c.variant]
		if k == nil {
			t.Fatalf("%s is not registered", c.variant)
		}
		if k.Constraint != c.constraint {
			t.Errorf("%s: the constraint is %q, want %q", c.variant, k.Constraint, c.constraint)
		}
		for _, x := range []backend.TensorRef{c.taken, c.refused} {
			y := matrix("y", x.Shape[0], x.Shape[1], x.Shape[1])
			why, ok, err := acceptsSomewhere(k, []backend.TensorRef{x}, []backend.TensorRef{y})
			wanted := slices.Equal(x.Shape, c.taken.Shape) && slices.Equal(x.Stride, c.taken.Stride)
			if err != nil || ok != wanted || !ok && why != c.why {
				t.Errorf("%s of %v, strides %v: %t %q %v, want %t %q", c.variant, x.Shape, x.Stride, ok,
					why, err, wanted, c.why)
			}
		}
	}
}

// limitedKernels returns the kernels of testdata/worker/limits.cu by their variant.
func limitedKernels(t *testing.T) map[string]*kernel {
	t.Helper()
	found := map[string]*kernel{}
	for _, k := range openedKernels(t, "limits.cu") {
		found[strings.TrimPrefix(k.Name, "cuda/")] = k
	}
	return found
}

// TestLimitsThatNoCallKeeps: the GPU is too old, or a limit names something that the spec lacks.
func TestLimitsThatNoCallKeeps(t *testing.T) {
	found := limitedKernels(t)
	always := []backend.TensorRef{matrix("x", 2, 8, 8)}
	for variant, want := range map[string]string{
		"capable":        "this test needs a GPU of compute capability 9.9 or newer, this one has 8.0",
		"unknown_tensor": "softmax/unknown_tensor forward has a limit on z, which is not in the spec",
		"unknown_size":   "softmax/unknown_size forward has a limit on columns, which is not in the spec",
		"no_spec":        "silu/no_spec forward has limits, and its file does not include \"spec/silu.cuh\"",
	} {
		if why, ok, err := acceptsSomewhere(found[variant], always, always); ok || err != nil || why != want {
			t.Errorf("%s: %t %q %v, want %q", variant, ok, why, err, want)
		}
	}
}

// TestAligned checks the alignment itself, as the addresses of acceptsSomewhere have every alignment.
func TestAligned(t *testing.T) {
	for _, k := range openedKernels(t, "limits.cu") {
		if k.Name != "cuda/aligned" {
			continue
		}
		x := []backend.TensorRef{matrix("x", 2, 8, 8)}
		call := newCall(k, nil, x, x)
		defer call.free()
		place(&call.in[0], 1<<20)
		for _, past := range []uintptr{0, 2} {
			place(&call.out[0], 1<<20+past)
			if why, ok, err := call.accepts(); err != nil || ok != (past == 0) ||
				!ok && why != "y begins 2 bytes past a multiple of 16" {
				t.Errorf("y %d bytes past a multiple: %t %q %v", past, ok, why, err)
			}
		}
		return
	}
	t.Error("cuda/aligned is not registered")
}

// TestSpecProvesCalls: the check that triad generates from a spec takes every case of it, and nothing that
// differs from a case in a rank, a size, a dtype, the number of tensors, an enumeration or the contiguity of
// an output.
func TestSpecProvesCalls(t *testing.T) {
	cases := 0
	for _, k := range openedKernels(t, "proven.cu") {
		o, err := catalog.Get(k.Op)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := o.Spec.Expand(op.Options{Level: op.LevelQuick, Passes: []op.Pass{k.Pass}})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range plan.Cases {
			cases++
			p := &provenCall{kernel: k}
			p.of(t, o.Spec, c)
			if why := p.refused(t); why != "" {
				t.Errorf("%s %s %s %v: refused: %s", k.Op, k.Pass, c.DType, c.Dims, why)
			}
			p.spoil(t, fmt.Sprintf("%s %s %s %v", k.Op, k.Pass, c.DType, c.Dims))
		}
	}
	if cases < 100 {
		t.Errorf("%d cases are asked, want at least 100", cases)
	}
}

// provenCall is a call as the spec describes it.
type provenCall struct {
	kernel  *kernel
	attrs   []backend.AttrRef
	enums   []bool
	in, out []backend.TensorRef
	sizes   map[string]int // how often a size occurs
	shapes  [][]string     // the expressions of the sizes, of inputs and then outputs
}

func (p *provenCall) of(t *testing.T, spec *op.Spec, c op.Case) {
	t.Helper()
	in, err := spec.Inputs(c)
	if err != nil {
		t.Fatal(err)
	}
	out, err := spec.Outputs(c)
	if err != nil {
		t.Fatal(err)
	}
	p.in, p.out, p.sizes = describedAs(in), describedAs(out), map[string]int{}
	for _, list := range [][]op.TensorType{in, out} {
		for _, tensor := range list {
			p.shapes = append(p.shapes, tensor.Sizes)
			for _, size := range tensor.Sizes {
				p.sizes[size]++
			}
		}
	}
	for i, a := range c.Attrs {
		p.attrs = append(p.attrs, backend.AttrRef{Name: a.Name, Number: a.Number})
		p.enums = append(p.enums, spec.Attributes[i].Type == "enum")
	}
}

// refused returns the kernel's reason to decline the call.
func (p *provenCall) refused(t *testing.T) string {
	t.Helper()
	call := newCall(p.kernel, p.attrs, p.in, p.out)
	defer call.free()
	for i := range call.in {
		place(&call.in[i], 1<<20)
	}
	for i := range call.out {
		place(&call.out[i], 1<<20)
	}
	why, _, err := call.accepts()
	if err != nil {
		t.Fatal(err)
	}
	return why
}

// spoil makes every small change in turn, and checks that each is refused.
func (p *provenCall) spoil(t *testing.T, of string) {
	t.Helper()
	must := func(what string) {
		t.Helper()
		if p.refused(t) == "" {
			t.Errorf("%s: taken with %s", of, what)
		}
	}
	for k, list := range [][]backend.TensorRef{p.in, p.out} {
		for i := range list {
			right := list[i]
			list[i].Shape = append(slices.Clone(right.Shape), 1)
			list[i].Stride = tensor.Contiguous(list[i].Shape)
			must("another rank of " + right.Name)
			for d := range right.Shape {
				if size := p.shapes[k*len(p.in)+i][d]; p.sizes[size] == 1 {
					continue // the spec says nothing else about this size
				}
				list[i].Shape = slices.Clone(right.Shape)
				list[i].Shape[d]++
				list[i].Stride = tensor.Contiguous(list[i].Shape)
				must(fmt.Sprintf("another size in dim %d of %s", d, right.Name))
			}
			list[i] = right
			list[i].DType = op.I64
			must("another dtype of " + right.Name)
			list[i] = right
			if k == 1 && len(right.Shape) > 1 && right.Shape[0] > 1 && !slices.Contains(right.Shape, 0) {
				list[i].Stride = slices.Clone(right.Stride)
				list[i].Stride[0]++
				must("gaps in " + right.Name)
				list[i] = right
			}
		}
	}
	for i, enum := range p.enums {
		if right := p.attrs[i].Number; enum {
			p.attrs[i].Number = 17
			must("17 as " + p.attrs[i].Name)
			p.attrs[i].Number = right
		}
	}
	in := p.in
	p.in = in[:len(in)-1]
	must("an input too few")
	p.in = in
}

// TestKernelsAreProvenBySpecs: none of our kernel files repeats what its operator's spec says.
func TestKernelsAreProvenBySpecs(t *testing.T) {
	for _, name := range cudatest.KernelNames(t) {
		file := "cuda/kernels/" + name + ".cu"
		text, err := triad.Files.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if include := `#include "spec/` + name + `.cuh"`; !strings.Contains(string(text), include) {
			t.Errorf("%s lacks the line %s", file, include)
		}
		for _, field := range []string{".accepts(", ".constraint("} {
			if strings.Contains(string(text), field) {
				t.Errorf("%s: a registration has %s: state limits (cuda/include/limits.cuh)", file, field)
			}
		}
	}
}
