package advice

import (
	"strings"
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
)

// refusedLaunches lists sentences of a worker about a launch, and what the author reads instead.
var refusedLaunches = []struct {
	sentence string
	dynamic  bool
	status   op.Status
	says     string
	empty    op.Status // of a call with nothing to write
}{
	{
		"the launch function returned CUDA error 9: invalid configuration argument", false, op.StatusFail,
		"in line 5, so nothing was computed: the grid or the block", op.StatusUnsupported,
	},
	{
		"the launch of mine/x returned CUDA error 9, invalid configuration: grid, block or shared memory " +
			"are out of bounds", true, op.StatusFail,
		"in line 5, so nothing was computed: the grid or the block", op.StatusUnsupported,
	},
	{
		"the launch function returned CUDA error 1: invalid argument", true, op.StatusFail,
		"in line 5, so nothing was computed: it asks for more dynamic shared memory", op.StatusFail,
	},
	{
		"the launch of mine/x returned CUDA error 1, invalid value", true, op.StatusFail,
		"in line 5, so nothing was computed: it asks for more dynamic shared memory", op.StatusFail,
	},
	{
		"the launch of mine/x returned CUDA error 1, invalid value", false, op.StatusFail,
		"in line 5, so nothing was computed: it, or another call of CUDA", op.StatusUnsupported,
	},
	{
		"the launch of mine/x returned CUDA error 701, out of resources: too many registers", false,
		op.StatusFail, "in line 5, so nothing was computed: a block needs more registers", op.StatusFail,
	},
	{"the launch of mine/x returned CUDA error 98, invalid device function: the library holds no code " +
		"for this GPU", false, op.StatusCrash, "CUDA error 98", op.StatusCrash},
	{
		"the launch of mine/x returned CUDA error 999", false, op.StatusCrash, "CUDA error 999",
		op.StatusCrash,
	},
	{
		"the worker could not run it: run: run: AcceleratorError: CUDA error: invalid argument", false,
		op.StatusCrash, "CUDA error: invalid argument", op.StatusUnsupported,
	},
	{
		"RuntimeError: CUDA error: invalid configuration argument", false, op.StatusCrash,
		"invalid configuration", op.StatusUnsupported,
	},
	{
		"AcceleratorError: CUDA error: misaligned address", false, op.StatusCrash, "misaligned",
		op.StatusCrash,
	},
	{
		"the kernel ended with CUDA error 700, illegal address", false, op.StatusCrash,
		"--device cpu runs the same and names the line", op.StatusCrash,
	},
	{
		"the kernel ended with CUDA error 719, launch failure", false, op.StatusCrash, "launch failure",
		op.StatusCrash,
	},
}

// The sentences of the emulator and of a GPU mean the same for a user's function.
func TestRefusedLaunchesAreExplained(t *testing.T) {
	for _, c := range refusedLaunches {
		o := backend.Outcome{Status: op.StatusCrash, Sentence: c.sentence}
		Explain(&o, []int{5}, c.dynamic)
		if o.Status != c.status || !strings.Contains(o.Sentence, c.says) {
			t.Errorf("%s: %v %q, want %v and %q", c.sentence, o.Status, o.Sentence, c.status, c.says)
		}
		o = backend.Outcome{Status: op.StatusCrash, Sentence: c.sentence}
		ExplainEmpty(&o, c.dynamic)
		Explain(&o, []int{5}, c.dynamic)
		if o.Status != c.empty {
			t.Errorf("%s, with nothing to write: %v %q, want %v", c.sentence, o.Status, o.Sentence, c.empty)
		}
	}
	plain := backend.Outcome{Status: op.StatusFail, Sentence: "returned CUDA error 9"}
	if Explain(&plain, nil, false); plain.Sentence != "returned CUDA error 9" {
		t.Errorf("what did not crash became %v", plain)
	}
}

// Gaps of the emulator, and failures of empty calls only, do not count against a function.
func TestLimitsAreNeutral(t *testing.T) {
	o := backend.Outcome{
		Status:   op.StatusCrash,
		Sentence: "the launch function returned CUDA error 801: operation not supported",
	}
	Explain(&o, nil, false)
	if o.Status != op.StatusUnsupported || !strings.Contains(o.Sentence, "the emulator does not have") {
		t.Errorf("a library: %v %q", o.Status, o.Sentence)
	}
	o = backend.Outcome{
		Status:   op.StatusCrash,
		Sentence: "the launch function returned CUDA error 801: operation not supported",
		Log: "the emulator does not have cublasCreate\nthe emulator does not have cublasSgemm\n" +
			"the emulator does not have cublasSgemm\n",
	}
	Explain(&o, nil, false)
	if !strings.HasPrefix(o.Sentence, "it calls cublasCreate, cublasSgemm of a library") {
		t.Errorf("functions of a library: %q", o.Sentence)
	}
	const ended = "exited 1 during run, before it answered; it last printed: CUDA error: " +
		"invalid configuration argument"
	o = backend.Outcome{Status: op.StatusCrash, Sentence: ended}
	if Explain(&o, nil, false); o.Status != op.StatusCrash {
		t.Errorf("0 blocks where something is to be written: %v, want CRASH", o.Status)
	}
	for _, sentence := range []string{
		ended, "integer division by zero",
		"died by signal floating point exception during run, before it answered",
	} {
		o = backend.Outcome{Status: op.StatusCrash, Sentence: sentence}
		if ExplainEmpty(&o, false); o.Status != op.StatusUnsupported {
			t.Errorf("%s, where nothing is to be written: %v, want UNSUPPORTED", sentence, o.Status)
		}
	}
	o = backend.Outcome{ // the last line is of an earlier call, and the error stands above it
		Status: op.StatusCrash, Sentence: "exited 1 during run, before it answered; it last printed: 1.0 ms",
		Log: "CUDA error: invalid configuration argument\n1.0 ms\n",
	}
	if ExplainEmpty(&o, false); !strings.Contains(o.Sentence, "launches 0 blocks") {
		t.Errorf("0 blocks, said in the log: %q", o.Sentence)
	}
}
