package ownfile

import (
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/ownfile/binding"
)

// pythonOf binds the one function of a Python file, of rows and columns.
func pythonOf(t *testing.T, text string, options binding.Options) *binding.Binding {
	t.Helper()
	r := binding.Request{Path: "mine.py", Parse: parsed}
	s := rowsAndCols(t)
	all, err := Bind(Read(r, text, nil), r, s, []op.Pass{op.Forward}, options)
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	return all[0]
}

const kernelThatStores = `
@triton.jit
def kernel(x, y, n, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(y + at, tl.load(x + at).to(tl.float32)WHERE, mask=at < n)


def f(x):
    y = torch.empty_like(x)
    kernel[(1,)](x, y, x.shape[-1], N=1024)
    return y
`

// A function whose kernels convert everything they store to 16 bits is judged in 16 bits, whatever its name.
func TestKernelsThatStoreHalves(t *testing.T) {
	for where, want := range map[string]string{".to(tl.float16)": "fp16", "": "fp32 fp16 bf16"} {
		b := pythonOf(t, strings.ReplaceAll(kernelThatStores, "WHERE", where), binding.Options{})
		if got := strings.Join(b.DTypes(), " "); got != want {
			t.Errorf("%q: judged in %s, want %s", where, got, want)
		}
	}
}

// So is one that stores what an earlier line converted.
func TestKernelsThatStoreWhatIsHalves(t *testing.T) {
	for line, want := range map[string]string{
		"z = tl.load(x + at).to(tl.float16)":                                         "fp16",
		"z = tl.load(x + at)":                                                        "fp32 fp16 bf16",
		"z = tl.load(x + at).to(tl.float16)\n    z = z.to(tl.float32)":               "fp32 fp16 bf16",
		"z = tl.load(x + at)\n    if n:\n        z = z.to(tl.float16)":               "fp32 fp16 bf16",
		"z = tl.load(x + at)\n    if n: z = z.to(tl.float16)":                        "fp32 fp16 bf16",
		"z = tl.load(x + at).to(tl.float16)\n    z += 1.0":                           "fp32 fp16 bf16",
		"z = tl.load(x + at).to(tl.float16)\n    if n:\n        z = tl.load(x + at)": "fp32 fp16 bf16",
		"z = tl.load(x + at).to(tl.float16)\n    z, w = tl.load(x + at), at":         "fp32 fp16 bf16",
		"z = tl.load(x + at).to(tl.float16)\n    (w, z) = at, tl.load(x + at)":       "fp32 fp16 bf16",
		"z = tl.load(x + at).to(tl.float16)\n    w = tl.sum(z, axis=0)":              "fp16",
	} {
		text := strings.ReplaceAll(kernelThatStores, "tl.store(y + at, tl.load(x + at).to(tl.float32)WHERE",
			line+"\n    tl.store(y + at, z")
		if got := strings.Join(pythonOf(t, text, binding.Options{}).DTypes(), " "); got != want {
			t.Errorf("%q: judged in %s, want %s", line, got, want)
		}
	}
}

// The meaning of a name in one kernel says nothing about what another one stores.
func TestKernelsThatStoreWhatTheyTake(t *testing.T) {
	text := strings.ReplaceAll(kernelThatStores, "tl.store(y + at, tl.load(x + at).to(tl.float32)WHERE",
		"z = tl.load(x + at).to(tl.float16)\n    tl.store(y + at, z")
	for takes, want := range map[string]string{"w": "fp16", "z": "fp32 fp16 bf16"} {
		other := "@triton.jit\ndef second(y, z, at):\n" +
			"    w = z.to(tl.float16)\n    tl.store(y + at, " + takes + ")\n"
		both := strings.Replace(text, "\n\ndef f(x):", "\n\n"+other+"\n\ndef f(x):", 1)
		both = strings.Replace(both, "    return y\n", "    second[(1,)](y, 1.0, 0)\n    return y\n", 1)
		if got := strings.Join(pythonOf(t, both, binding.Options{}).DTypes(), " "); got != want {
			t.Errorf("%s is stored: judged in %s, want %s", takes, got, want)
		}
	}
}

// The return value of a nested function is not the outer one's.
func TestDTypeBesideAFunctionWithin(t *testing.T) {
	b := pythonOf(t, `
def f(x):
    y = torch.empty((4, 4), device=x.device, dtype=torch.float16)

    def grid(meta):
        return (4, 4)

    kernel[grid](x, y)
    return y
`, binding.Options{})
	if got := strings.Join(b.DTypes(), " "); got != "fp16" {
		t.Errorf("judged in %s, want fp16", got)
	}
}

// A dtype that is passed on names none, and of the dtypes that nothing names trials leave fp32.
func TestUnstatedDTypes(t *testing.T) {
	text := "def f(x):\n    return x\n\ndef check():\n    dtype = torch.float32\n" +
		"    f(torch.ones(4, dtype=dtype))\n"
	b := pythonOf(t, text, binding.Options{})
	if got := strings.Join(b.UnstatedDTypes(), " "); got != "fp16 bf16" {
		t.Errorf("unsaid are %q, want fp16 bf16", got)
	}
	b = pythonOf(t, text, binding.Options{}.With(b.InStatedAlone()))
	if got := strings.Join(b.DTypes(), " "); got != "fp32" || len(b.UnstatedDTypes()) > 0 {
		t.Errorf("in fp32 alone: judged in %s, unsaid %v", got, b.UnstatedDTypes())
	}
	if got := Describe(b); !strings.Contains(got, "it is judged in fp32 alone") {
		t.Error(got)
	}
	if b = pythonOf(t, "def f(x, dtype=None):\n    return x\n",
		binding.Options{}); len(b.UnstatedDTypes()) > 0 {
		t.Error("a file that speaks of dtypes names none")
	}
	const one = "def f(x):\n    return x.to(torch.float16).to(x.dtype)\n"
	b = pythonOf(t, one, binding.Options{})
	if got := strings.Join(b.UnstatedDTypes(), " "); got != "bf16" {
		t.Errorf("beside float16 are unsaid %q, want bf16", got)
	}
	b = pythonOf(t, one, binding.Options{}.With(b.InStatedAlone()))
	if got := Describe(b); !strings.Contains(got, "no line of it speaks of bf16") ||
		strings.Join(b.DTypes(), " ") != "fp32 fp16" {
		t.Error(got)
	}
	both := "def f(x):\n    if x.dtype in (torch.half, torch.bfloat16):\n        return x\n    return +x\n"
	if b = pythonOf(t, both, binding.Options{}); len(b.UnstatedDTypes()) > 0 {
		t.Errorf("a file that names both leaves %v unsaid", b.UnstatedDTypes())
	}
}
