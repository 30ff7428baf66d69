package pyparser

import (
	"strings"
	"testing"

	"triad/internal/ownfile/pyfacts"
)

// Nothing in a file runs. A definition with an error keeps its head, what follows it is read, and notebook
// commands are left out.
func TestParse(t *testing.T) {
	parse := New(OfPATH)
	for text, want := range map[string]string{
		"import os\nos.abort()\ndef f(x, *, n: int = 3):\n    return x\n":               "f 3 x,n",
		"def f(x):\n    y = (x\n    return y\n\n\n@a.b()\ndef g(x, y):\n    return x\n": "f 1 x, g 7 x,y",
		"def f(x):\n    print 3\n": "f 1 x",
		"!pip install torch\n%matplotlib inline\ndef f(x):\n    return x\n":       "f 3 x",
		"try:\n    def f(x):\n        return x\nexcept ImportError:\n    g = (\n": "",
		"try:\n    def f(x):\n        return x\nexcept ImportError:\n    pass\n":  "f 2 x",
		"def f(x):\n    return '\x00'\n":                                          "f 1 x",
		"@torch.jit.script\ndef f(x):\n    return x\n":                            "f 2 x",
		"if not HAS_TRITON:\n    def f(x): pass\nelse:\n    def f(x, y): pass\n":  "f 4 x,y",
		"": "",
	} {
		var words []string
		file := parse(text)
		for _, fn := range file.Functions {
			var names []string
			for _, p := range fn.Params {
				names = append(names, p.Name)
			}
			words = append(words, fn.Name+" "+string(rune('0'+fn.Line))+" "+strings.Join(names, ","))
		}
		if got := strings.Join(words, ", "); got != want || file.Error != "" {
			t.Errorf("%q: %q, want %q; error %q", text, got, want, file.Error)
		}
	}
}

// What a file imports of torch and Triton has its usual name in the facts, unless something else has that.
func TestUsualNames(t *testing.T) {
	parse := New(OfPATH)
	for _, c := range []struct{ imports, calls, want string }{
		{"from torch import mm", "mm(x, x)", "torch.mm(x, x)"},
		{"import torch as th", "th.mm(x, x)", "torch.mm(x, x)"},
		{"from torch.nn import functional as G", "G.relu(x)", "F.relu(x)"},
		{"from torch.nn.functional import relu as r", "r(x)", "F.relu(x)"},
		{"import triton.language as T", "T.load(x)", "tl.load(x)"},
		{"from torch import mm as M\ndef M(x): pass", "M(x)", "M(x)"},
		{"from torch import mm as M", "(M := x)", "(M := x)"},
	} {
		text, want := c.imports+"\ndef f(x):\n    return "+c.calls+"\n", "return "+c.want
		file := parse(text)
		if fn := file.Functions[len(file.Functions)-1]; file.Error != "" || fn.Asking != want {
			t.Errorf("%q: %q, want %q; error %q", text, fn.Asking, want, file.Error)
		}
	}
}

// A text that cannot be parsed, or a missing interpreter, is an error that says what was tried.
func TestParseFails(t *testing.T) {
	deep := strings.Repeat("-", 100_000) + "1"
	if got := New(OfPATH)(deep).Error; !strings.Contains(got, "cannot parse it") {
		t.Errorf("deep nesting: %q", got)
	}
	none := func() (string, error) { return "/no/python3", nil }
	if got := New(none)("x = 1"); !strings.Contains(got.Error, "/no/python3 cannot parse it") {
		t.Errorf("without an interpreter: %q", got.Error)
	}
}

// An interpreter that ended is restarted.
func TestParserStartsAgain(t *testing.T) {
	p := &parser{interpreter: OfPATH, known: map[string]*pyfacts.File{}}
	for _, text := range []string{"def f(x):\n    return x\n", "def g(x):\n    return x\n"} {
		if got := p.parse(text); len(got.Functions) != 1 || got.Error != "" {
			t.Errorf("%q: %+v", text, got)
		}
		p.process.End()
	}
}

// A macro of several lines in a string for load_inline keeps its lines: C++ hides their ends, too.
func TestHiddenLineEnds(t *testing.T) {
	const text = "import torch.utils.cpp_extension as e\n" +
		"s = \"\"\"#define A(x) \\\n    x\n__global__ void k() {}\"\"\"\n" +
		"m = e.load_inline(name='m', cuda_sources=s, cpp_sources='', functions=['k'])\n"
	file := New(OfPATH)(text)
	const want = "#define A(x) \\\n    x\n__global__ void k() {}"
	if file.Error != "" || len(file.Inline) != 1 || file.Inline[0].Text != want {
		t.Errorf("%+v, error %q, want the text %q", file.Inline, file.Error, want)
	}
}

// A file at which the search for facts fails is an error of that file: the next one is parsed.
func TestStrangeFiles(t *testing.T) {
	p := &parser{interpreter: OfPATH, known: map[string]*pyfacts.File{}}
	p.parse("x = 1\n")
	first := p.process
	// Python parses a chain of attributes in a loop, and whoever walks the tree needs a frame for each
	strange := "def f(x):\n    return x" + strings.Repeat(".y", 5000) + "\n"
	if got := p.parse(strange); got.Error == "" {
		t.Fatalf("it is read: %+v", got)
	}
	if got := p.parse("def f(x):\n    return x\n"); len(got.Functions) != 1 || p.process != first {
		t.Errorf("after it: %+v, another interpreter: %v", got, p.process != first)
	}
}
