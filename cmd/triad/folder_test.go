package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"triad/internal/need"
)

// needsPython skips a test without a Python with torch or without a compiler.
func needsPython(t *testing.T) {
	t.Helper()
	testPython(t)
	need.Tool(t, "g++")
}

// startOperator makes the folder of a new operator and changes its files: file, old text, new text.
func startOperator(t *testing.T, changes ...[3]string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "my_norm")
	if text, code := runTriad(t, "new", folder); code != 0 ||
		!strings.Contains(text, "triad compare "+folder) {
		t.Fatalf("exit %d\n%s", code, text)
	}
	for _, c := range changes {
		path := filepath.Join(folder, c[0])
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		changed := strings.ReplaceAll(string(text), c[1], c[2])
		if changed == string(text) {
			t.Fatalf("%s holds no %q", c[0], c[1])
		}
		if err := os.WriteFile(path, []byte(changed), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// TestNewOperator: a new operator is judged as it is: its kernel, its torch row, the gradients of both
// against autograd of the reference.
func TestNewOperator(t *testing.T) {
	needsPython(t)
	folder := startOperator(t)
	text, code := runTriad(t, "gradcheck", folder, "--quick", "--device", "cpu", "--dtype", "fp32")
	agrees := regexp.MustCompile(
		`truth of my_norm: differences of the reference agrees to .*grad_x, grad_weight`)
	if code != 0 || !agrees.MatchString(text) {
		t.Errorf("exit %d\n%s", code, text)
	}
	text, code = runTriad(t, "compare", folder, "--quick", "--device", "cpu", "--pass", "forward",
		"--verbose")
	for _, want := range []string{
		`mine/my_norm\.cu +fp32 +PASS`, `torch/fp32 +bf16 +PASS`, `can tell right from wrong \(100\.0 %\)`,
	} {
		if code != 0 || !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("exit %d, want %q in\n%s", code, want, text)
		}
	}
	if text, code := runTriad(t, "ops", "show", folder); code != 0 ||
		!strings.Contains(text, "mine/my_norm") {
		t.Errorf("exit %d\n%s", code, text)
	}
}

// TestNewOperatorWithAMistake: a wrong kernel is rejected, and another file is judged against the same truth.
func TestNewOperatorWithAMistake(t *testing.T) {
	needsPython(t)
	folder := startOperator(t, [3]string{
		"my_norm.cu", "partial[0] / cols + eps",
		"partial[0] / cols + 2 * eps",
	})
	other := filepath.Join(t.TempDir(), "other.py")
	if err := os.WriteFile(other, []byte("import torch\n\n\ndef solve(x, weight, eps):\n    f = x.float()\n"+
		"    return (f * torch.rsqrt((f * f).mean(-1, keepdim=True) + eps) * weight.float()).to(x.dtype)\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	text, code := runTriad(t, "compare", folder, "--quick", "--device", "cpu", "--pass", "forward", "--dtype",
		"fp32", "--add", other)
	for _, want := range []string{
		`mine/my_norm\.cu +FAIL`, `mine/other\.py +PASS`,
		regexp.QuoteMeta("triad compare " + folder + " --full"),
	} {
		if code != 1 || !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("exit %d, want 1 and %q in\n%s", code, want, text)
		}
	}
}

// TestNewOperatorThatCannotBeJudged: a mistake in a folder is one sentence with file and line, and exit 2.
func TestNewOperatorThatCannotBeJudged(t *testing.T) {
	needsPython(t)
	const formula = "return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps) * weight"
	for _, c := range []struct {
		name   string
		change [3]string
		says   string
	}{
		{
			"unknown key",
			[3]string{"my_norm.toml", `fill = "weight"`, `fil = "weight"`},
			`my_norm\.toml:32:1: unknown key inputs\.fil: want of .*fill`,
		},
		{"broken", [3]string{"my_norm.toml", `name = "rows"`, `name = rows`}, `my_norm\.toml:12:8: `},
		{
			"another name",
			[3]string{"my_norm.toml", `name = "my_norm"`, `name = "my_other"`},
			`want "my_norm", the stem of the file`,
		},
		{
			"a built-in name",
			[3]string{"my_norm.toml", `{ fp32 = "fp32"`, `{ fp32 = "p16"`},
			`contract "p16" .*want of fp32, stored, eager, tf32`,
		},
		{
			"no truth",
			[3]string{"my_norm.py", "def reference(", "def formula("},
			`no function reference: want def reference\(x, weight, \*, eps\)`,
		},
		{
			"wrong shape",
			[3]string{"my_norm.py", formula, "return (x * x).sum(-1)"},
			`y came back with shape \[1\]: want \[1 1\]`,
		},
		{
			"unknown form",
			[3]string{"my_norm.py", formula, "return torch.special.i0(x)"},
			`line 15: bessel_i0 has no rule for its error bound`,
		},
		{
			"an input left out",
			[3]string{"my_norm.toml", `["x", "weight", "grad_y"]`, `["x", "grad_y"]`},
			`backward\.inputs leaves out an input`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, code := runTriad(t, "compare", startOperator(t, c.change), "--quick", "--device", "cpu",
				"--impl", "torch", "--dtype", "fp32")
			if code != 2 || !regexp.MustCompile(c.says).MatchString(text) {
				t.Errorf("exit %d, want 2 and %q in\n%s", code, c.says, text)
			}
		})
	}
}

// TestTruthThatIsNeverFinite: each case of an operator whose truth is NaN is SKIPPED, and nothing is proven.
func TestTruthThatIsNeverFinite(t *testing.T) {
	needsPython(t)
	const formula = "return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps) * weight"
	folder := startOperator(t, [3]string{"my_norm.py", formula, "return x / 0 * 0"})
	text, code := runTriad(t, "compare", folder, "--quick", "--device", "cpu", "--impl", "torch", "--dtype",
		"fp32")
	says := regexp.MustCompile(`SKIPPED: the truth of this case is not finite: .* y is NaN at element 0`)
	if code != 3 || !says.MatchString(text) {
		t.Errorf("exit %d, want 3 and %q in\n%s", code, says, text)
	}
}

// TestNewFromAnOperator: an operator that computes what one of the catalog does is judged by the reference in
// its own files.
func TestNewFromAnOperator(t *testing.T) {
	needsPython(t)
	folder := filepath.Join(t.TempDir(), "my_softmax")
	if text, code := runTriad(t, "new", folder, "--from", "softmax"); code != 0 {
		t.Fatalf("exit %d\n%s", code, text)
	}
	text, code := runTriad(t, "compare", folder, "--device", "cpu", "--impl", "mine,torch/eager",
		"--dtype", "fp32", "--dims", "rows=3,cols=7", "--quick")
	if code != 0 || !strings.Contains(text, "mine/my_softmax.cu  PASS") || !strings.Contains(text, "Exit 0") {
		t.Errorf("exit %d\n%s", code, text)
	}
}

// TestNewRefuses covers what new refuses, and what is no folder of an operator.
func TestNewRefuses(t *testing.T) {
	there := t.TempDir()
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"new", "softmax"}, "is an operator that triad has.*--from softmax"},
		{[]string{"new", "My-Norm"}, "want a name of lower-case letters"},
		{[]string{"new"}, "want one name"},
		{
			[]string{"new", filepath.Join(there, "x"), "--from", "nothing"},
			`unknown operator "nothing": triad ops list has all`,
		},
		{
			[]string{"new", filepath.Join(there, "no", "such", "folder")},
			"cannot make the folder: no such file",
		},
		{[]string{"compare", there}, "the folder holds no .toml: triad new NAME"},
		{
			[]string{"compare", filepath.Join(there, "nothing")},
			"there is no such folder: triad new nothing makes one",
		},
		{[]string{"compare", there, "softmax"}, "an operator of your own: name it alone"},
		{
			[]string{"compare", "softmax", "--add", "x.cu", "--nvcc-flags", "-o x"},
			`--nvcc-flags: "-o" is no flag that may be given`,
		},
		{[]string{"compare", "softmax", "--nvcc-flags", "-w"}, "speak of a file that --add names"},
	} {
		text, code := runTriad(t, c.args...)
		if code != 2 || !regexp.MustCompile(c.says).MatchString(text) {
			t.Errorf("%v: exit %d, want 2 and %q in\n%s", c.args, code, c.says, text)
		}
	}
	folder := filepath.Join(there, "my_norm")
	for want := range 2 {
		if text, code := runTriad(t, "new", folder); code != 2*want {
			t.Errorf("time %d: exit %d\n%s", want+1, code, text)
		}
	}
}
