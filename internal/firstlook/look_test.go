package firstlook

import (
	"strings"
	"testing"

	"triad/internal/check"
	"triad/internal/op"
	"triad/internal/operatorguess"
	"triad/internal/record"
)

// passOf returns a pass with one run of a status.
func passOf(pass op.Pass, status op.Status, causes ...Cause) Pass {
	p := Pass{Pass: pass, DType: "fp32", Error: 0.25, Causes: causes}
	p.Row.Add(status, "file.cu:3: the reason", "1")
	p.Main = p.Row
	return p
}

// alsoIn adds a run in another dtype that the function was only assumed to take.
func (p Pass) alsoIn(assumed string, main op.Status) Pass {
	p.Row.Add(op.StatusNotUnderstood, "wrong as triad reads it, and this was assumed: "+assumed+". If not",
		"2")
	p.Main.Add(main, "", "3")
	return p
}

func judged(by operatorguess.Evidence, passes ...Pass) Judged {
	return Judged{Guess: operatorguess.Guess{Operator: "op", By: by}, Passes: passes}
}

// findings of triad check, at lines.
func checked(kinds map[int]check.Kind) *check.Report {
	r := &check.Report{Orders: []string{"forward"}}
	for line, kind := range kinds {
		r.Findings = append(r.Findings, check.Finding{Kind: kind, Place: &check.Place{
			File: "file.cu",
			Line: line,
		}})
	}
	return r
}

var (
	cause = Cause{Line: 7, Text: "cause"}
	sure  = operatorguess.FileName
	guess = operatorguess.Parameters
	named = operatorguess.Guess{Operator: "op", By: sure}
)

// lineCase is a file, and what its line says.
type lineCase struct {
	name    string
	file    File
	verdict Verdict
	says    string
	open    bool
}

var lineCases = []lineCase{
	{
		"its results could not be judged, and its program ran clean",
		File{Checked: checked(nil), Judged: []Judged{{Guess: named, Why: "no parameter is y"}}},
		Clean, "triad check finds nothing; the results were not judged: no parameter is y", true,
	},
	{
		"right in the dtype that it names, and assumed to take another",
		File{Judged: []Judged{judged(sure, passOf(op.Forward, op.StatusPass).alsoIn("it takes fp16",
			op.StatusPass))}},
		Right, "1 case, mean error 0.25 ulp in fp32, wrong if it takes fp16", false,
	},
	{
		"right, and its gradient is wrong under an assumption",
		File{Judged: []Judged{judged(sure, passOf(op.Forward, op.StatusPass), Pass{
			Pass: op.Backward, DType: "fp32",
		}.alsoIn("approximate is none", op.StatusNotUnderstood))}},
		GradientUnsure, "1 case, mean error 0.25 ulp in fp32, its gradient is wrong if approximate is none",
		false,
	},
	{
		"right, and threads never come to a barrier",
		File{
			Checked: &check.Report{Orders: []string{"forward"}, Notes: []string{
				"sum.cu:13, kernel k: threads end and never come to this barrier. A condition differs.",
			}},
			Judged: []Judged{judged(sure, passOf(op.Forward, op.StatusPass))},
		},
		Right, "1 case, mean error 0.25 ulp in fp32; but line 13: not all threads reach this " +
			"__syncthreads(), which CUDA leaves undefined", false,
	},
	{
		"not understood in its main dtype: nothing is acquitted on a guess",
		File{Judged: []Judged{judged(sure, passOf(op.Forward, op.StatusPass).alsoIn("its grid is 1",
			op.StatusNotUnderstood))}},
		Unsure, "wrong as triad reads it, and this was assumed: its grid is 1", true,
	},
	{
		"right",
		File{Judged: []Judged{judged(sure, passOf(op.Forward, op.StatusPass),
			passOf(op.Backward, op.StatusPass))}},
		Right,
		"2 cases, gradient RIGHT, mean error 0.25 ulp in fp32", false,
	},
	{
		"right, and its main() fails, where a launch may leave out elements",
		File{
			Checked: checked(map[int]check.Kind{0: check.ExitStatus}), Launch: cause,
			Judged: []Judged{judged(sure, passOf(op.Forward, op.StatusPass))},
		},
		Right, "1 case, mean error 0.25 ulp in fp32; but main() failed: look at what it printed; " +
			"line 7: cause", false,
	},
	{
		"right, and its main() fails",
		File{
			Checked: checked(map[int]check.Kind{0: check.ExitStatus}),
			Judged:  []Judged{judged(sure, passOf(op.Forward, op.StatusPass))},
		},
		Right, "1 case, mean error 0.25 ulp in fp32; but main() failed", false,
	},
	{
		"right, and a launch may leave out elements, which its main() does not mind",
		File{Launch: cause, Judged: []Judged{judged(sure, passOf(op.Forward, op.StatusPass))}},
		Right, "1 case, mean error 0.25 ulp in fp32", false,
	},
	{
		"wrong",
		File{Judged: []Judged{judged(sure, passOf(op.Forward, op.StatusFail, cause))}},
		Wrong,
		"line 7: cause", false,
	},
	{"wrong without a cause: the place that a compiler names", File{Judged: []Judged{
		judged(sure, passOf(op.Forward, op.StatusBuildFail)),
	}}, Wrong, "line 3: the reason", false},
	{"only the gradient", File{Judged: []Judged{judged(sure, passOf(op.Forward, op.StatusPass),
		passOf(op.Backward, op.StatusFail, cause))}}, GradientWrong, "line 7: cause", false},
	{
		"never accused on a guess",
		File{Judged: []Judged{
			judged(guess, passOf(op.Forward, op.StatusFail, cause)),
		}},
		Unsure,
		"wrong if it is meant for op: line 7: cause", true,
	},
	{"a guess that passes is none", File{Judged: []Judged{
		judged(guess, passOf(op.Forward, op.StatusPass)),
	}}, Right, "1 case", false},
	{"of two, the one that passes", File{Judged: []Judged{
		judged(sure, passOf(op.Forward, op.StatusFail, cause)), judged(sure, passOf(op.Forward,
			op.StatusPass)),
	}}, Right, "1 case", false},
	{
		"what check finds goes first, then another cause",
		File{
			Checked: checked(map[int]check.Kind{9: check.Misaligned}),
			Judged:  []Judged{judged(sure, passOf(op.Forward, op.StatusFail, cause))},
		},
		Wrong,
		"line 9: misaligned access: keep the offset a multiple of the vector's elements; and " +
			"line 7: cause", false,
	},
	{"a right operator, and the program around it leaks", File{
		Checked: checked(map[int]check.Kind{9: check.Leak}),
		Judged:  []Judged{judged(sure, passOf(op.Forward, op.StatusPass))},
	}, Right, "1 case", false},
	{
		"a right operator in a program that reads past an end",
		File{
			Checked: checked(map[int]check.Kind{9: check.OutOfBounds}),
			Judged:  []Judged{judged(sure, passOf(op.Forward, op.StatusPass))},
		},
		Wrong,
		"line 9: access out of bounds: if (i < n)", false,
	},
	{
		"no operator, and check finds nothing",
		File{Checked: checked(nil), Nearest: "op"},
		Clean,
		"triad check finds nothing; no operator fits (the nearest is op)", false,
	},
	{
		"no operator, and the leak counts",
		File{Checked: checked(map[int]check.Kind{9: check.Leak})},
		Wrong,
		"line 9: memory is never given back: cudaFree", false,
	},
	{
		"no operator and no main()",
		File{Nearest: "op"},
		Unsure, "no operator fits (the nearest is op)",
		true,
	},
	{
		"a guess that could not be judged is no operator",
		File{Judged: []Judged{
			judged(guess, passOf(op.Forward, op.StatusNotUnderstood)),
		}},
		Unsure,
		"no operator fits (the nearest is op)", true,
	},
	{"the operator is named, and it was not understood", File{Judged: []Judged{
		{Guess: named, Why: "no parameter is y"},
	}}, Unsure, "no parameter is y", true},
}

// The line of a file has its worst result, the line of the source first.
func TestLineOfAFile(t *testing.T) {
	for _, c := range lineCases {
		t.Run(c.name, func(t *testing.T) {
			c.file.Path = "a/file.cu"
			l := c.file.Line()
			if l.Verdict != c.verdict || !strings.HasPrefix(l.Text, c.says) || l.Open != c.open {
				t.Errorf("%q, %q, open %t; want %q, %q, open %t", l.Verdict, l.Text, l.Open, c.verdict,
					c.says,
					c.open)
			}
			count := CountOf([]Line{l})
			if count.Bad+count.Good+count.Open != 1 {
				t.Errorf("it counts as %+v", count)
			}
		})
	}
}

// The first finding of the emulator is the cause; what sizes prove takes the place of its usual remedy, and a
// line that a reader of the source names is added.
func TestCausesOf(t *testing.T) {
	found := record.Diagnosis{Findings: []record.Finding{
		{Happens: "reads past the end", Remedy: "if (i < n)", Where: &record.Where{
			File: "b/file.cu",
			Line: 4,
		}},
		{Kind: "", Happens: "a consequence", Where: &record.Where{File: "b/file.cu", Line: 5}},
	}}
	noted := found
	noted.Notes = []string{
		"b/file.cu:4, kernel k: threads end and never come to this barrier. More.", "other",
	}
	two := record.Diagnosis{Findings: []record.Finding{
		{Kind: "race", Happens: "race", Where: &record.Where{File: "b/file.cu", Line: 4}},
		{Kind: "race", Happens: "race", Where: &record.Where{File: "b/file.cu", Line: 5}},
		{Kind: "divergence", Happens: "barrier", Where: &record.Where{File: "b/file.cu", Line: 9}},
	}}
	elsewhere := record.Diagnosis{Findings: []record.Finding{
		{Happens: "race", Where: &record.Where{File: "b/tile.cuh", Line: 4}},
	}}
	for _, c := range []struct {
		d     record.Diagnosis
		usual Usual
		want  string
	}{
		{record.Diagnosis{}, Usual{Cause: Cause{Line: 2, Text: "usual"}}, "line 2: usual"},
		{record.Diagnosis{}, Usual{}, ""},
		{found, Usual{Cause: Cause{Text: "usual"}}, "line 4: reads past the end: if (i < n)"},
		{found, Usual{Cause: Cause{Text: "sizes"}, Exact: true}, "line 4: reads past the end: sizes"},
		{
			found,
			Usual{Cause: Cause{Line: 2, Text: "usual"}},
			"line 4: reads past the end: if (i < n); and line 2: usual",
		},
		{
			noted,
			Usual{},
			"line 4: reads past the end: if (i < n); and line 4: not all threads reach this __syncthreads()",
		},
		{two, Usual{}, "line 4: race; and line 9: barrier"},
		{elsewhere, Usual{Cause: Cause{Text: "usual"}}, "tile.cuh:4: race: usual"},
	} {
		if got := join(CausesOf(c.d, "a/file.cu", c.usual)); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// A result without another line to blame is wrong where it is written.
func TestWrittenAt(t *testing.T) {
	if got := WrittenAt("float s;\natomicAdd(&y[0], s);\n", false, false, "", []string{"y"}); got != 2 {
		t.Errorf("an atomic addition: line %d", got)
	}
	cuda := "// y[i] = 0\nvoid k(float *y) {\n\tif (y[0] == 1) x[i] = 2;\n\ty[r * n + c] = x[i];\n}\n"
	python := "class F:\n    def forward(ctx, x):\n        return x\n    def backward(ctx, g):\n" +
		"        h = g\n        return h\n\n\ndef f(x):\n    return x\n"
	triton := "import tl\ntl.load(x)\n    tl.store(y, x)\n"
	for _, c := range []struct {
		text             string
		python, gradient bool
		want             int
	}{{cuda, false, false, 4}, {python, true, true, 6}, {python, true, false, 3}, {triton, true, false, 3}} {
		if got := WrittenAt(c.text, c.python, c.gradient, "", []string{"y"}); got != c.want {
			t.Errorf("line %d, want %d of\n%s", got, c.want, c.text)
		}
	}
}

// An output is also written through a pointer that is made of it, and through the parameter to which a launch
// passes it; an element of it is no pointer to it.
func TestWrittenByAnotherName(t *testing.T) {
	row := "__global__ void k(const float *x, float *y, int n) {\n\tfloat first = y[0];\n" +
		"\tconst float *in = x + blockIdx.x * n;\n\tfloat *other = table + y[0];\n\tother[0] = 1;\n" +
		"\tfloat *__restrict__ out = y + blockIdx.x * n;\n\tout[threadIdx.x] = in[threadIdx.x];\n}\n"
	element := "void k(float *y) {\n\tauto *out = &y[4]; // out[0] = 1\n\t*out = 2;\n}\n"
	launched := "template <int N>\n__global__ void part(const float *x, float *sums, int n) {\n" +
		"\tx[0] == 1;\n\tsums[blockIdx.x] = x[0];\n}\nvoid solve(const float *x, float *y, int n) {\n" +
		"\tpart<256><<<dim3(1, 1), 256>>>(x, y, n);\n}\n"
	called := "__device__ void store(float *to, int i, float v) {\n\tto[i] = v;\n}\n" +
		"__global__ void k(float *y, int n) {\n\tstore(y, f(n, 1), 2);\n}\n"
	for text, want := range map[string]int{row: 7, element: 3, launched: 4, called: 2, "int y;\n": 0} {
		if got := WrittenAt(text, false, false, "", []string{"y"}); got != want {
			t.Errorf("line %d, want %d of\n%s", got, want, text)
		}
	}
}

// Of several functions of a Python file each is wrong where its own result is written: not in the kernel of
// another.
func TestWrittenByAFunction(t *testing.T) {
	text := "@triton.jit\ndef one_kernel(x):\n    tl.store(x, 1)\n\n\n" +
		"def one(x):\n    y = launch(x)\n    return y\n\n\n" +
		"def launch(x):\n    one_kernel[1](x)\n    return x\n\n\n" +
		"def two(x):\n    if x:\n        return 2 * x\n    return x\n\n\n" +
		"@triton.jit\ndef last_kernel(x):\n    tl.store(x, 2)\n\n\nthree = lambda x: last_kernel[1](x)\n"
	for function, want := range map[string]int{"one": 3, "two": 19, "three": 24, "": 24, "elsewhere": 24} {
		if got := WrittenAt(text, true, false, function, nil); got != want {
			t.Errorf("%q: line %d, want %d of\n%s", function, got, want, text)
		}
	}
	used := UsedBy(text, "one")
	if strings.Count(used, "\n") != strings.Count(text, "\n") || strings.Count(used, "tl.store") != 1 {
		t.Errorf("one uses\n%s", used)
	}
}

// A line that does not fit a terminal is wrapped at spaces, its time as one word.
func TestLineOnATerminal(t *testing.T) {
	l := Line{
		File: "k.cu", Operator: "op", Verdict: Wrong, Text: "line 14: a GPU refuses a grid", Seconds: 3.5,
	}
	plain := func(_ Verdict, text string) string { return text }
	coloured := func(_ Verdict, text string) string { return "\x1b[31m" + text + "\x1b[0m" }
	head := "k.cu     op            WRONG  "
	whole := head + "line 14: a GPU refuses a grid" + strings.Repeat(" ", textWidth-29) + "  3.5 s"
	for columns, want := range map[int]string{
		0: whole, 200: whole, 66: head + "line 14: a GPU refuses a grid  3.5 s",
		65: head + "line 14: a GPU refuses a grid\n     3.5 s",
		46: head + "line 14: a GPU\n    refuses a grid  3.5 s",
		30: head + "\n    line 14: a GPU refuses a\n    grid  3.5 s",
	} {
		if got := l.Format(7, columns, plain); got != want {
			t.Errorf("%d columns:\n%s\nwant\n%s", columns, got, want)
		}
	}
	if got := l.Format(7, 66, coloured); strings.Contains(got, "\n") {
		t.Errorf("colour takes room:\n%s", got)
	}
}

// Only files of two languages that are both right are compared.
func TestCompared(t *testing.T) {
	line := func(name, operator string, v Verdict, python bool) Line {
		return Line{File: name, Operator: operator, Verdict: v, Python: python, DType: "fp32", Error: 0.5}
	}
	all := []Line{
		line("a.cu", "op", Right, false), line("b.py", "op", Right, true), line("c.py", "op", Wrong, true),
		line("d.py", "other", Right, true), line("e.cu", "op", Right, false),
	}
	want := "op: a.cu and b.py are both right; mean error 0.5 ulp in fp32 and 0.5 ulp in fp32.\n" +
		"op: e.cu and b.py are both right; mean error 0.5 ulp in fp32 and 0.5 ulp in fp32."
	if got := Compared(all); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
