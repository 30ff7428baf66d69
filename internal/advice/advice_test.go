package advice

import (
	"strings"
	"testing"

	"triad/internal/op"
)

// A thread far beyond a tensor ends the kernel on a GPU and is found by its address in the emulator: the
// advice is the same.
func TestAdviceOfAnIllegalAddress(t *testing.T) {
	emulated := Facts{
		Status: op.StatusOutOfBounds, Message: "a write 4 bytes past the end of y",
		Multiple: 256, Tried: Tried{Size: "cols", Right: []int64{256, 512}, Wrong: []int64{1, 255}},
	}
	onGPU := Facts{
		Status: op.StatusCrash, Message: "the kernel ended with CUDA error 700, illegal address",
		Multiple: 256, Tried: Tried{Size: "cols", Right: []int64{256, 512}, Wrong: []int64{1, 255}},
	}
	if a, b := For(emulated), For(onGPU); a != b || !strings.Contains(a, "if (i < n)") {
		t.Errorf("in the emulator %q, on a GPU %q", a, b)
	}
	emulated.Multiple, onGPU.Multiple = 0, 0
	if a, b := For(emulated), For(onGPU); a != b || !strings.Contains(a, "if (i < n)") {
		t.Errorf("in the emulator %q, on a GPU %q", a, b)
	}
}

// An access in front of a tensor is one of a negative index, whichever thread makes it.
func TestAdviceOfANegativeIndex(t *testing.T) {
	f := Facts{
		Status: op.StatusOutOfBounds,
		Message: "kernel ::copy: invalid read of address 0x7f: 4 bytes before the start of buffer x of 4 " +
			"bytes, block (0,0,0), thread (0,0,0)",
	}
	if got := For(f); !strings.Contains(got, "its index is negative") {
		t.Errorf("%q", got)
	}
}

// The advice for a Python function does not mention threads.
func TestAdviceOfALimitInPython(t *testing.T) {
	f := Facts{
		Status: op.StatusCrash, Message: "ValueError: only up to 64 columns", UpTo: true, Last: 64,
		Python: true, Tried: Tried{"cols", []int64{32, 64}, []int64{65, 66, 128, 130, 260}},
	}
	if got, want := For(f), "cols = 32, 64 are right, 65, 66, 128, 130, 260 are wrong"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	f.Python, f.Message = false, launchRefused
	if got := For(f); !strings.Contains(got, "64 threads are not enough") {
		t.Errorf("of a .cu: %q", got)
	}
	f.Status, f.ULP = op.StatusFail, 9000
	f.Message = "only the last row (63) is wrong (tiles may meet there; the halo)"
	if got := For(f); strings.Contains(got, "threads are not enough") {
		t.Errorf("of a halo: %q", got)
	}
}

// If bits are compared nothing is close to the truth, and precision is not to blame.
func TestAdviceWhereBitsAreCompared(t *testing.T) {
	f := Facts{Status: op.StatusFail, DType: "uint8", ULP: 35, Formula: "y = 255 - x", Layout: "x [n], y [n]"}
	f.Usual, f.Pass = "alpha stays", op.Forward
	if got := For(f); strings.Contains(got, "float") || !strings.HasSuffix(got, "missed most: alpha stays") {
		t.Errorf("of integers that are far off: %q", got)
	}
	f.ULP = 1
	if got := For(f); !strings.Contains(got, "rounded another way") {
		t.Errorf("of values off by 1: %q", got)
	}
	f.Largest = 35
	if got := For(f); strings.Contains(got, "rounded another way") {
		t.Errorf("of values off by 1 in the smallest case alone: %q", got)
	}
	f.Exact = true
	if got := For(f); !strings.Contains(got, "Compare it with the formula, y = 255 - x") {
		t.Errorf("of bits: %q", got)
	}
}

// No sum is kept in fp4: a wrong function has decoded a number or found a scale wrongly.
func TestAdviceOfPackedNumbers(t *testing.T) {
	f := Facts{Status: op.StatusFail, DType: "e2m1x2", ULP: 35, Formula: "y = a x"}
	if got := For(f); !strings.Contains(got, "two fp4 numbers, the first in its low half") ||
		strings.Contains(got, "kept in") || !strings.HasSuffix(got, "y = a x, and add up in float") {
		t.Errorf("%q", got)
	}
}

// If the number of returned values is wrong nothing was compared.
func TestAdviceOfReturnedValues(t *testing.T) {
	f := Facts{Status: op.StatusFail, DType: "fp32", Message: "y is one of 2 returned values, want 1"}
	if got := For(f); got != "" {
		t.Errorf("advice %q: want none", got)
	}
}

// What the emulator saw takes precedence over what the sizes suggest.
func TestAdviceOfWhatWasSeen(t *testing.T) {
	ended := Facts{
		Status: op.StatusFail, Message: "y[0,0] is NaN, want 1", Multiple: 32, Tried: Tried{Size: "cols"},
		Log: "triad: mine.cu:6: __shfl_xor_sync of lane 0 reads lane 16, " +
			"whose thread has ended or was never there",
	}
	if got := For(ended); !strings.HasPrefix(got, "line 6: __shfl_xor_sync of a thread that has returned") {
		t.Errorf("of a lane that has ended: %q", got)
	}
	ended.Message = "y[0,0] is 2, want 1"
	if got := For(ended); strings.Contains(got, "__shfl") {
		t.Errorf("of a number: %q", got)
	}
	misaligned := Facts{
		Status:   op.StatusCrash,
		Message:  "misaligned address: 16 bytes",
		Multiple: 4,
		Tried:    Tried{Size: "cols"},
	}
	if got := For(misaligned); !strings.HasPrefix(
		got,
		"it is right where cols is a multiple of 4 and stops",
	) {
		t.Errorf("of a misaligned address: %q", got)
	}
	misaligned.Message = "kernel k: misaligned address: 4 bytes at once are read"
	if got := For(misaligned); !strings.Contains(got, "4 bytes, as a half2 has") {
		t.Errorf("of a misaligned half2: %q", got)
	}
	for _, distribution := range []string{"neg_inf_mask", "neg_inf_blocks"} {
		masked := Facts{
			Status: op.StatusFail, Message: "got NaN, want 0", Distribution: distribution,
			OrdinaryPasses: true,
		}
		if got := For(masked); !strings.Contains(got, "-INFINITY - (-INFINITY) is NaN") {
			t.Errorf("of inputs of -infinity, %s: %q", distribution, got)
		}
	}
}

// Ordinary numbers become NaN if shared memory is read too early. If NaN is the truth, or no memory is
// shared, that is no explanation.
func TestAdviceOfNaNFromSharedMemory(t *testing.T) {
	f := Facts{
		Status: op.StatusFail, DType: "fp32", Distribution: "normal", ULP: 1e9, Formula: "y = sum x",
		Message: "y[0] is NaN, want 0.5", Shares: true,
	}
	if got := For(f); !strings.Contains(got, "put __syncthreads() between") {
		t.Errorf("%q", got)
	}
	for _, other := range []Facts{
		{Message: f.Message, Distribution: "normal"},
		{Message: "y[0] is 3, want NaN", Distribution: "normal", Shares: true},
		{Message: f.Message, Distribution: "non_finite", Shares: true},
	} {
		other.Status, other.DType, other.ULP = f.Status, f.DType, f.ULP
		if got := For(other); strings.Contains(got, "__syncthreads") {
			t.Errorf("%+v: %q", other, got)
		}
	}
}

// An operator may know better than the grid why elements stay unwritten.
func TestAdviceOfUnwrittenElements(t *testing.T) {
	f := Facts{Status: op.StatusFail, Message: "y[1] was never written"}
	if got := For(f); !strings.Contains(got, "the grid has too few blocks") {
		t.Errorf("%q", got)
	}
	f.Unwritten = "an empty segment has a sum too"
	if got := For(f); !strings.Contains(got, f.Unwritten) || strings.Contains(got, "grid") {
		t.Errorf("%q", got)
	}
}

// A function that returns its result, and writes nothing into the parameter of the output, has no grid that
// is too small.
func TestAdviceOfAReturnedResult(t *testing.T) {
	f := Facts{
		Status:  op.StatusFail,
		Message: "y[0] was never written; 8 of 8 elements still show the poison",
		Log:     "triad: solve returned a tensor, which is not read: the outputs are parameters\n",
	}
	if got := For(f); !strings.Contains(got, "it returns a tensor; the format wants the output written") {
		t.Errorf("%q", got)
	}
	f.Message = strings.Replace(f.Message, "8 of 8", "3 of 8", 1)
	if got := For(f); !strings.Contains(got, "the grid has too few blocks") {
		t.Errorf("some elements are written: %q", got)
	}
}

// An access beyond the end of a tensor says nothing about races of other cases; an output that is NaN where
// launches differ may be one that was added to.
func TestAdviceBesideARace(t *testing.T) {
	f := Facts{Status: op.StatusOutOfBounds, Race: true, Message: "12 bytes past the end of buffer x"}
	if got := For(f); strings.Contains(got, "other threads") || !strings.Contains(got, "if (i < n)") {
		t.Errorf("of a bad access: %q", got)
	}
	const added = "write it first"
	f.Status, f.Message = op.StatusRace, "y differs between two orders; y[0,0] is NaN, want 0.4; 1 is wrong"
	if got := For(f); !strings.Contains(got, added) || !strings.Contains(got, "__syncthreads()") {
		t.Errorf("of an output that begins as NaN: %q", got)
	}
	f.Message = "y[0,0] differs between two orders in which blocks and threads may run; 1 of 1 elements do"
	if got := For(f); strings.Contains(got, added) {
		t.Errorf("of numbers: %q", got)
	}
}

// If the emulator names the line, sizes are still facts, and what they suggest is left out.
func TestAdviceBesideAReport(t *testing.T) {
	f := Facts{
		Status: op.StatusFail, DType: "fp32", Message: "y[0] is NaN", Multiple: 256, Reported: true,
		Tried: Tried{"n", []int64{256, 512}, []int64{1, 255}},
	}
	want := "it is right where n is a multiple of 256 and wrong beside it (right: 256, 512; wrong: 1, 255)"
	if got := For(f); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	f.Multiple, f.UpTo, f.Last = 0, true, 512
	if got, want := For(f), "n = 256, 512 are right, 1, 255 are wrong"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	f.Tried = Tried{}
	if got := For(f); got != "" {
		t.Errorf("without a size: %q, want nothing", got)
	}
}
