package serve

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"triad"
	"triad/cuda/cudatest"
	"triad/internal/backend"
	"triad/internal/catalog"
	"triad/internal/op"
	"triad/internal/run"
	"triad/internal/tensor"
	"triad/internal/workload"
)

// recordLaunches is the environment variable with the file to which a process records its launches.
const recordLaunches = "TRIAD_TEST_LAUNCHES"

// surveyedOperator is the environment variable with the operator whose kernels such a process launches.
const surveyedOperator = "TRIAD_TEST_SURVEYED"

// TestEveryKernelIsSurveyed: each kernel that a kernel file instantiates is launched by a case that `compare
// --sanitize` may choose, so that the tools see all of them, and none is compiled that nothing selects. A
// process with a runtime that records launches instead of running them makes every such call. The fast tier
// checks one operator of each family.
func TestEveryKernelIsSurveyed(t *testing.T) {
	if os.Getenv(recordLaunches) != "" {
		launchSurveyed(t, os.Getenv(surveyedOperator))
		return
	}
	recorder := filepath.Join(t.TempDir(), "librecorder.so")
	built := sync.OnceValue(func() error {
		build := exec.CommandContext(t.Context(), cudatest.NeedCompiler(t).Path, "-std=c++17", "-O1", "-fPIC",
			"-shared", "-I../emulator", "-o", recorder,
			filepath.Join("testdata", "launches", "recorder.cc"), "-ldl")
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %w\n%s", build.Args, err, out)
		}
		return nil
	})
	for _, name := range cudatest.KernelsBySize(t) {
		t.Run(name, func(t *testing.T) {
			cudatest.CoversLibrary(t, name)
			if err := built(); err != nil {
				t.Fatal(err)
			}
			launchesAll(t, recorder, name)
		})
	}
}

// launchesAll checks that the surveyed cases of an operator launch each of its kernels.
func launchesAll(t *testing.T, recorder, operator string) {
	record := filepath.Join(t.TempDir(), "launches")
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestEveryKernelIsSurveyed$", "-test.v")
	child.Env = append(os.Environ(), recordLaunches+"="+record, "TRIAD_TEST_RECORDER="+recorder,
		surveyedOperator+"="+operator)
	if out, err := child.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	launched := map[string]map[uint64]bool{} // by library, offsets
	for line := range strings.Lines(string(text)) {
		library, offset, _ := strings.Cut(strings.TrimSpace(line), " ")
		at, err := strconv.ParseUint(offset, 10, 64)
		if err != nil {
			t.Fatalf("line %q of the record: %v", line, err)
		}
		if launched[library] == nil {
			launched[library] = map[uint64]bool{}
		}
		launched[library][at] = true
	}
	files := map[string]bool{} // a kernel file is one library, or two: see parts.go
	for library := range launched {
		files[strings.TrimSuffix(strings.TrimSuffix(library, ".so"), "_synchronous")] = true
	}
	if len(files) != 1 {
		t.Errorf("launches of %d kernel files are recorded, want those of one", len(files))
	}
	for library, offsets := range launched {
		instances := instantiated(t, library)
		for at, name := range instances {
			if !offsets[at] {
				t.Errorf("%s: no case that is surveyed launches %s", filepath.Base(library), name)
			}
		}
		for at := range offsets {
			if instances[at] == "" {
				t.Errorf("%s: a launch of what lies at %#x, and no kernel does", filepath.Base(library), at)
			}
		}
		t.Logf("%s: %d kernels, %d launched", filepath.Base(library), len(instances), len(offsets))
	}
}

// instantiated returns the functions of an emulator's library that run a thread of a kernel, by their
// offsets: one for each instantiation that some launch names.
func instantiated(t *testing.T, library string) map[uint64]string {
	t.Helper()
	file, err := elf.Open(library)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	symbols, err := file.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	found := map[uint64]string{}
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Section != elf.SHN_UNDEF &&
			strings.HasPrefix(s.Name, "_ZN5cuemu7ThreadsI") && strings.HasSuffix(s.Name, "3oneEPv") {
			found[s.Value] = s.Name
		}
	}
	if len(found) == 0 {
		t.Errorf("%s: no kernel is found", library)
	}
	return found
}

// launchSurveyed calls every kernel of an operator's library with every case of a survey. The recorder is
// loaded first: its definitions hide the emulator's.
func launchSurveyed(t *testing.T, name string) {
	if _, err := open(os.Getenv("TRIAD_TEST_RECORDER"), true); err != nil {
		t.Fatal(err)
	}
	device := NewEmulator(triad.Files, testCache)
	operator, err := catalog.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	_, kernels, err := (&server{device: device, specs: catalogSpec}).open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	options := run.EveryKernel(run.Request{}).Options
	options.Device = "gpu"
	plan, err := operator.Spec.Expand(options)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range plan.Cases {
		elements, _, err := operator.Spec.Footprint(c)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range kernels {
			if run.Surveyed(elements) && k.Pass == c.Pass && slices.Contains(k.DTypes, c.DType) {
				if err := launchOne(operator.Spec, k, c); err != nil {
					t.Fatalf("%s %s: %v", name, k.Name, err)
				}
			}
		}
	}
}

// launchOne calls a kernel if it accepts a case. Its pointers lead nowhere: nothing runs.
func launchOne(spec *op.Spec, k *kernel, c op.Case) error {
	inputs, err := spec.Inputs(c)
	if err != nil {
		return err
	}
	outputs, err := spec.Outputs(c)
	if err != nil {
		return err
	}
	attributes := make([]backend.AttrRef, len(c.Attrs))
	for i, a := range c.Attrs {
		attributes[i] = backend.AttrRef{Name: a.Name, Number: a.Number}
	}
	const somewhere = 1 << 20
	refs := describedAs(inputs)
	for i, t := range inputs {
		if c.Layout == "padded" && len(t.Shape) > 1 && t.Strided {
			refs[i].Stride = workload.Padded(t)
		}
	}
	call := newCall(k, attributes, refs, describedAs(outputs))
	defer call.free()
	for i := range call.in {
		place(&call.in[i], somewhere)
	}
	for i := range call.out {
		if k.gives(i) {
			place(&call.out[i], somewhere)
		}
	}
	if _, ok, err := call.accepts(); !ok || err != nil {
		return err
	}
	bytes, err := call.workspace()
	if err != nil {
		return err
	}
	call.setWorkspace(Buffer{Pointer: somewhere, Bytes: bytes})
	if f := call.Launch(0); f.Status != op.StatusUnknown {
		return fmt.Errorf("%v %s", f.Status, f.Message)
	}
	return nil
}

// describedAs returns contiguous tensors of the types.
func describedAs(types []op.TensorType) []backend.TensorRef {
	var refs []backend.TensorRef
	for _, t := range types {
		refs = append(refs, backend.TensorRef{
			Name: t.Name, DType: t.DType, Shape: t.Shape,
			Stride: tensor.Contiguous(t.Shape),
		})
	}
	return refs
}

// TestLargeTileIsSurveyed: on a GPU of 132 multiprocessors a surveyed product of fp8_gemm uses tiles of 256
// by 128, and another one those of 192 by 128, with rows for every warpgroup that multiplies. Their rows are
// whole vectors of 16 bytes.
func TestLargeTileIsSurveyed(t *testing.T) {
	operator, err := catalog.Get("fp8_gemm")
	if err != nil {
		t.Fatal(err)
	}
	options := run.EveryKernel(run.Request{}).Options
	options.Device, options.Passes = "gpu", []op.Pass{op.Forward}
	plan, err := operator.Spec.Expand(options)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, c := range plan.Cases {
		elements, _, err := operator.Spec.Footprint(c)
		if err != nil {
			t.Fatal(err)
		}
		m, n, k := c.Dims.Get("m"), c.Dims.Get("n"), c.Dims.Get("k")
		columns := (n + 127) / 128
		of256, of192 := (m+255)/256*columns, (m+191)/192*columns
		if !run.Surveyed(elements) || of256 < 132 || k == 0 || k%16 != 0 || m <= 128 {
			continue
		}
		rows := "256"
		if (of192+131)/132*192 <= (of256+131)/132*256 { // the rows of the busiest multiprocessor
			rows = "192"
		}
		found[c.DType+" "+c.Attrs.Text("scaling")+" "+rows] = true
	}
	var want []string
	for _, dtype := range operator.Spec.PassDTypes(op.Forward) {
		for _, scaling := range []string{"tensor", "row", "block"} {
			want = append(want, dtype+" "+scaling+" 192", dtype+" "+scaling+" 256")
		}
	}
	for _, kind := range want {
		if !found[kind] {
			t.Errorf("no surveyed product gives 132 multiprocessors large tiles of so many rows: %s", kind)
		}
	}
}
