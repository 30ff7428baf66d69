package advice

import (
	"strings"
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
)

var buildLimits = []struct {
	message, log string
	gpu          bool
	status       op.Status
	says         string
}{
	{
		"x.cu:1: cutlass/cutlass.h",
		"x.cu:1:10: fatal error: cutlass/cutlass.h: No such file or directory", true,
		op.StatusUnavailable, "it includes cutlass/cutlass.h,",
	},
	{
		"/x.py:205: SyntaxError: f-string: expecting '}'", "",
		false, op.StatusUnavailable, "its f-string is none before Python 3.12",
	},
	{
		"x.cu:7: cannot read what <<< launches; a macro that hides a launch can use " +
			"cudaLaunchKernelEx(&config, kernel, args...) or CUDA_LAUNCH(kernel, grid)", "",
		false, op.StatusUnsupported, "a macro hides a launch, and the emulator reads it where it is " +
			"written: run it where a GPU is, or use cudaLaunchKernelEx(&config",
	},
	{
		"x.cu:3: redefinition of 'constexpr const int warpSize'",
		"x.cu:3:15: error: redefinition of 'constexpr const int warpSize'\n" +
			"cuda/emulator/cuemu/execution.h:24:22: note: 'constexpr const int warpSize' previously " +
			"defined here",
		false, op.StatusUnsupported, "it defines warpSize, which the emulator's headers define too",
	},
	{
		"x.cu:3: redefinition of 'constexpr const int width'",
		"x.cu:3:15: error: redefinition of 'constexpr const int width'\n" +
			"x.cu:1:15: note: 'constexpr const int width' previously defined here",
		false, op.StatusUnknown, "",
	},
	{
		"x.cu:1: mma.h", "x.cu:1:10: fatal error: mma.h: No such file or directory", false,
		op.StatusUnsupported, "it includes mma.h, which the emulator",
	},
	{
		"x.cu:1: cub/cub.cuh", "x.cu:1:10: fatal error: cub/cub.cuh: No such file or directory", true,
		op.StatusUnavailable, "it includes cub/cub.cuh,",
	},
	{
		"x.cu:1: 'my.h' file not found", "x.cu:1:10: fatal error: 'my.h' file not found", false,
		op.StatusUnavailable, "it includes my.h,",
	},
	{
		"/x.py:2: ModuleNotFoundError: No module named 'flash_attn'", "", false, op.StatusUnavailable,
		"it imports flash_attn,",
	},
	{
		"/x.py:2: ModuleNotFoundError: No module named 'cuda.tile': /v/bin/python -m pip install cuda", "",
		false, op.StatusUnavailable, "it imports cuda.tile, whose kernels run on a GPU alone: run it where " +
			"one is, after triad setup --cutile",
	},
	{
		"/x.py:2: ImportError: cannot import name 'tile' from 'cuda' (unknown location)", "", false,
		op.StatusUnavailable, "it imports cuda.tile, whose kernels run on a GPU alone",
	},
	{
		"/x.py:3: RuntimeError: operator mine::swiglu does not exist", "", false, op.StatusUnavailable,
		"it names torch.ops.mine.swiglu, which nothing that it imports registers",
	},
	{
		"/x.py:2: ModuleNotFoundError: No module named 'yaml': /v/bin/python -m pip install pyyaml", "",
		false, op.StatusUnavailable, "/v/bin/python -m pip install pyyaml, or leave the import out",
	},
	{
		"/x.py:2: ImportError: cannot import name 'libdevice' from 'triton.language' " +
			"(/v/lib/site-packages/triton/language/__init__.py)", "", true, op.StatusUnavailable,
		"it imports libdevice from triton.language, which the version here does not have",
	},
	{
		"/x.py:2: ImportError: cannot import name 'softmx' from 'kernels' (/home/u/kernels.py)", "",
		false, op.StatusUnknown, "",
	},
	{
		"/x.py:9: RuntimeError: Found no NVIDIA driver on your system.", "", false,
		op.StatusUnavailable, `if __name__ == "__main__":`,
	},
	{"/x.py:9: RuntimeError: Found no NVIDIA driver on your system.", "", true, op.StatusUnknown, ""},
	{
		"/x.py:9: OSError: CUDA_HOME environment variable is not set.", "", false, op.StatusUnavailable,
		"it compiles an extension when it is imported",
	},
	{
		"/x.py:9: AssertionError: Torch not compiled with CUDA enabled", "", false,
		op.StatusUnavailable, "needs a GPU when it is imported",
	},
	{
		"/x.py:9: NotImplementedError: no TMA (raised in /tma.py)", "", false, op.StatusUnsupported,
		"what it imports fails where no GPU is",
	},
	{"/x.py:9: NotImplementedError: no TMA (raised in /tma.py)", "", true, op.StatusUnknown, ""},
	{
		"x.cu:7: ‘cublasSgemm’ was not declared in this scope", "", false, op.StatusUnsupported,
		"the emulator does not have cublasSgemm",
	},
	{
		"x.cu:7: ‘__nv_fp8x4_e4m3’ does not name a type", "", false, op.StatusUnsupported,
		"__nv_fp8x4_e4m3",
	},
	{"x.cu:7: ‘cublasSgemm’ was not declared in this scope", "", true, op.StatusUnknown, ""},
	{
		"x.cu:7: ‘surfCubemapread’ was not declared in this scope", "", false, op.StatusUnsupported,
		"the emulator does not have surfCubemapread",
	},
	{
		"x.cu:7: use of undeclared identifier '__match_any_sync'", "", false, op.StatusUnsupported,
		"the emulator does not have __match_any_sync",
	},
	{"x.cu:7: ‘__my_helper’ was not declared in this scope", "", false, op.StatusUnknown, ""},
	{"x.cu:7: ‘make_tile’ was not declared in this scope", "", false, op.StatusUnknown, ""},
	{"x.cu:7: ‘total’ was not declared in this scope", "", false, op.StatusUnknown, ""},
	{
		"x.cu:7: ‘READS’ was not declared in this scope",
		"x.cu:7:9: error: ‘READS’ was not declared in this scope\n" +
			"x.cu:8:9: error: ‘MY_BLOCK’ was not declared in this scope", true, op.StatusUnavailable,
		`READS, MY_BLOCK are defined nowhere: who compiles it gives their numbers. Say them, as in ` +
			`--nvcc-flags "-DREADS=4 -DMY_BLOCK=256"`,
	},
	{`x.cu(7): error: identifier "TILE_M" is undefined`, "", true, op.StatusUnavailable, "-DTILE_M=32"},
	{"x.cu:7: ‘Tile’ was not declared in this scope", "", false, op.StatusUnknown, ""},
	{"x.cu:7: ‘attention’ was not declared in this scope", "", false, op.StatusUnknown, ""},
	{"x.cu:7: expected ‘;’ before ‘}’ token", "", false, op.StatusUnknown, ""},
	{"/x.py:3: NameError: name 'softmx' is not defined", "", false, op.StatusUnknown, ""},
	{
		"x.cu:7: ‘class at::Tensor’ has no member named ‘argsort’", "", false, op.StatusUnsupported,
		"does not have argsort of PyTorch",
	},
	{
		"x.cu:7: ‘matmul’ is not a member of ‘torch’", "", true, op.StatusUnsupported,
		"does not have matmul of PyTorch",
	},
	{
		"load library libx.so: /c/libx.so: undefined symbol: _ZN5Clock5totalE", "", false,
		op.StatusUnavailable, "it uses Clock::total, which another file defines",
	},
	{
		"load library libx.so: /c/libx.so: undefined symbol: _Z6finishPfi", "", true,
		op.StatusUnavailable, "it uses finish, which another file defines",
	},
	{
		"/tmp/x.py:5: SystemExit: 1", "", false, op.StatusUnavailable,
		"it ends the process when it is imported",
	},
	{"x.cu:7: ‘struct Mine’ has no member named ‘argsort’", "", false, op.StatusUnknown, ""},
}

// Something missing here is not a file's fault; an error in the file is.
func TestBuildLimit(t *testing.T) {
	for _, c := range buildLimits {
		status, sentence, ok := BuildLimit(c.message, c.log, !c.gpu)
		if status != c.status || ok != (c.status != op.StatusUnknown) ||
			!strings.Contains(sentence, c.says) {
			t.Errorf("%s: %v %q, want %v and %q", c.message, status, sentence, c.status, c.says)
		}
	}
}

// A function that requires a GPU where there is none, or declines sizes, dtypes and strides by an assert, was
// not wrong; one that asserts the values of tensors, or raises something else, is.
func TestExplainDeclined(t *testing.T) {
	const outside = "Did you forget to add @triton.jit ? (`_semantic` argument must be provided outside of " +
		"JIT functions.)"
	for _, c := range []struct {
		sentence, line string
		status         op.Status
	}{
		{"AssertionError: ", "    assert x.is_cuda", op.StatusUnsupported},
		{
			"AssertionError: want a GPU", "    assert x.device.type == 'cuda', 'want a GPU'",
			op.StatusUnsupported,
		},
		{"AssertionError: Torch not compiled with CUDA enabled", "", op.StatusUnsupported},
		{
			"RuntimeError: Found no NVIDIA driver on your system.", "y = torch.empty(4, device='cuda')",
			op.StatusUnsupported,
		},
		{"AssertionError: ", "    assert x.shape[0] == 3", op.StatusUnsupported},
		{"AssertionError: ", "    assert HEAD_DIM in {16, 32, 64, 128}", op.StatusUnsupported},
		{"AssertionError: ", "    assert x.is_contiguous()", op.StatusUnsupported},
		{"AssertionError: ", "    tl.static_assert(BLOCK <= HEAD_DIM)", op.StatusUnsupported},
		{"AssertionError: ", "    assert torch.allclose(x, y)", op.StatusCrash},
		{"AssertionError: ", "    assert x.max() < 10", op.StatusCrash},
		{
			"NotImplementedError: inline_asm not supported in interpreter mode", "    y = f(x)",
			op.StatusUnsupported,
		},
		{
			"AttributeError: 'InterpreterBuilder' object has no attribute 'create_fp8'", "    y = f(x)",
			op.StatusUnsupported,
		},
		{"ValueError: Unsupported data type", "    kernel[grid](x, y)", op.StatusUnsupported},
		{"ValueError: Unsupported data type", "    raise ValueError(words)", op.StatusCrash},
		{"ValueError: " + outside, "    y = libdevice.j0(x)", op.StatusUnsupported},
		{"ValueError: " + outside, "    plain = libdevice.exp(x)", op.StatusCrash},
		{"ValueError: " + outside, "    y = tl.exp(x)", op.StatusCrash},
		{"ValueError: too many values to unpack (expected 3)", "    b, h, d = q.shape", op.StatusUnsupported},
		{
			"ValueError: not enough values to unpack (expected 3, got 2)", "    b, h, d = q.size()  # heads",
			op.StatusUnsupported,
		},
		{"ValueError: too many values to unpack (expected 3)", "    b, h, d = x.tolist()", op.StatusCrash},
		{"ValueError: too many values to unpack (expected 3)", "    b, h, d = scores.shape", op.StatusCrash},
		{"ValueError: too many values to unpack (expected 3)", "    raise ValueError(words)", op.StatusCrash},
		{"AttributeError: module 'triton.language' has no attribute 'libdevice'", "", op.StatusUnsupported},
		{"AttributeError: module 'mine' has no attribute 'libdevice'", "", op.StatusCrash},
		{"AssertionError: never", "    raise AssertionError('never')", op.StatusCrash},
		{"AssertionError: ", "", op.StatusCrash},
		{"ValueError: is_cuda", "    raise ValueError('is_cuda')", op.StatusCrash},
	} {
		o := backend.Outcome{Status: op.StatusCrash, Sentence: c.sentence}
		head := "@triton.jit\ndef f(\n    x, q: torch.Tensor,  # scores\n):"
		if strings.Contains(c.line, "plain") {
			head = "def f(x):"
		}
		if ExplainDeclined(&o, Raised{Line: c.line, Head: head}, true); o.Status != c.status {
			t.Errorf("%s at %q: %v %s, want %v", c.sentence, c.line, o.Status, o.Sentence, c.status)
		}
	}
}

// An exception that a function raises itself declines the call, unless it depends on values or passes a
// failure on.
func TestRaisedToDecline(t *testing.T) {
	for _, c := range []struct {
		line, guard string
		status      op.Status
	}{
		{"raise ValueError(f'{x.ndim} sizes')", "    if x.ndim != 2:", op.StatusUnsupported},
		{
			"if n % 2: raise NotImplementedError('odd')", "    if n % 2: raise NotImplementedError('odd')",
			op.StatusUnsupported,
		},
		{"raise TypeError(", "def check(x):", op.StatusUnsupported},
		{"raise ValueError('not a number')", "    if torch.isnan(x).any():", op.StatusCrash},
		{"raise RuntimeError('failed')", "    except Exception as e:", op.StatusCrash},
		{"raise RuntimeError('failed') from e", "    if e:", op.StatusCrash},
		{"raise", "    if e:", op.StatusCrash},
		{"raise ValueError(words)", "", op.StatusCrash},
		{"y = x[7]", "    if x.ndim != 2:", op.StatusCrash},
	} {
		o := backend.Outcome{Status: op.StatusCrash, Sentence: "ValueError: words"}
		ExplainDeclined(&o, Raised{Line: c.line, Guard: c.guard}, true)
		if o.Status != c.status {
			t.Errorf("%s in %s: %v, want %v", c.line, c.guard, o.Status, c.status)
		}
		if o.Status == op.StatusUnsupported && o.Sentence != "it declines this call: ValueError: words" {
			t.Errorf("%s: %s", c.line, o.Sentence)
		}
	}
}

// A name that exists only in Python 2 says what a file is written for; other unknown names are missing in it.
func TestNamesOfPython2(t *testing.T) {
	for name, want := range map[string]op.Status{"xrange": op.StatusUnsupported, "rows": op.StatusCrash} {
		o := backend.Outcome{
			Status: op.StatusCrash, Sentence: "NameError: name '" + name + "' is not defined",
		}
		if ExplainDeclined(&o, Raised{Line: "for i in " + name + "(n):"}, true); o.Status != want {
			t.Errorf("%s: %v, want %v", name, o.Status, want)
		}
	}
}

// The sentence about an extension that returns another dtype than it takes says so.
func TestGivesAnotherDType(t *testing.T) {
	o := backend.Outcome{
		Status: op.StatusCrash, Sentence: "the launch of a returned TRIAD_UNSUPPORTED", Log: givesFP32 + "\n",
	}
	if ExplainThrown(&o); !strings.Contains(o.Sentence, "let it return a tensor of the dtype that it takes") {
		t.Errorf("%s", o.Sentence)
	}
}

// An exception that a function of a PyTorch extension throws declines the call.
func TestExplainThrown(t *testing.T) {
	for sentence, want := range map[string]op.Status{
		"the launch of a returned TRIAD_UNSUPPORTED for a call that it had accepted": op.StatusUnsupported,
		"the launch of a returned CUDA error 9":                                      op.StatusCrash,
	} {
		o := backend.Outcome{Status: op.StatusCrash, Sentence: sentence}
		if ExplainThrown(&o); o.Status != want {
			t.Errorf("%s: %v, want %v", sentence, o.Status, want)
		}
	}
}
