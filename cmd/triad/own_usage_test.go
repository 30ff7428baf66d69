package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"triad/internal/catalog"
	"triad/internal/need"
	"triad/internal/session"
)

const rightRow = `__global__ void softmax(const float* x, float* y, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float m = -INFINITY, s = 0;
    for (int c = 0; c < cols; c++) m = fmaxf(m, x[row * cols + c]);
    for (int c = 0; c < cols; c++) s += expf(x[row * cols + c] - m);
    for (int c = 0; c < cols; c++) y[row * cols + c] = expf(x[row * cols + c] - m) / s;
}
`

// words returns the flags of one case: it is a call, since gofumpt writes every literal of a row on its own
// line.
func words(flags ...string) []string { return flags }

// unjudged lists files and flags that give no verdict, or one that says why the file is wrong, with the exit
// code.
var unjudged = []struct {
	name, file, text string
	op               string
	flags            []string
	code             int
	says             string
}{
	{
		"not there", "", "", "softmax", words("--add", "nowhere.cu"), 2, "cannot read the file: no such file",
	},
	{"no kernel file", "mine.txt", "", "softmax", nil, 2, "want a .cu, a .cuh or a .py file"},
	{
		"does not compile", "mine.cu", rightRow + "extern \"C\" void solve(const float* x, float* y, int " +
			"rows, int cols) { softmx<<<rows, 1>>>(x, y, rows, cols); }\n",
		"softmax", nil, 1, `mine.cu:9: 'softmx' was not declared`,
	},
	{"no function", "mine.cu", "int x;\n", "softmax", nil, 2, `looks for extern "C" void solve`},
	{
		"only main", "mine.cu", "int main() { return 0; }\n", "softmax", nil, 2,
		"has a main\\(\\) of its own and no function that triad can call",
	},
	{"main beside it", "mine.cu", rightRow + "int main() { return 0; }\n", "softmax", nil, 0, "PASS"},
	{
		"several kernels", "mine.cu",
		rightRow + strings.Replace(rightRow, "void softmax", "void softmax2", 1),
		"softmax", nil, 0,
		`(?s)mine/mine\.cu:softmax +PASS.*mine/mine\.cu:softmax2 +PASS`,
	},
	{
		"one of several", "mine.cu:other",
		rightRow + regexp.MustCompile("void softmax").ReplaceAllString(rightRow, "void other"), "softmax",
		nil, 0, "mine/mine.cu:other +PASS",
	},
	{
		"no such function", "mine.cu:nothing", rightRow, "softmax", nil, 2,
		"it has no function nothing: it has softmax",
	},
	{
		"a size is missing", "mine.cu", "extern \"C\" void solve(const float* x, float* y, int N) {}\n",
		"softmax", nil, 3,
		`mine/mine\.cu was not understood: .*rows is 1. Write this line above line \d+ of mine\.cu, \w+, ` +
			`with what is meant for .: // triad: softmax\(x=x, y=y, cols=N, rows=.\)`,
	},
	{
		"wrong type", "mine.cu", "extern \"C\" void solve(const long long* x, long long* y, int rows, int " +
			"cols) {}\n", "softmax", nil, 2,
		`x is int64.*softmax is judged in fp32, fp16, bf16`,
	},
	{
		"types that differ", "mine.cu", "#include <cuda_fp16.h>\nextern \"C\" void solve(const half* x, " +
			"float* y, int rows, int cols) {}\n", "softmax", nil, 2,
		`x is fp16, y is fp32: they must be of one type`,
	},
	{
		"a class", "mine.cu", "#include <vector>\nextern \"C\" void solve(std::vector<float> x, float* y, " +
			"int rows, int cols) {}\n", "softmax", nil, 2,
		`neither a device pointer nor a number`,
	},
	{
		"a tensor is missing", "mine.cu", "extern \"C\" void solve(const float* gate, float* out, int " +
			"n) {}\n",
		"swiglu", nil, 2, "no parameter for up",
	},
	{
		"map to nothing", "mine.cu", rightRow, "softmax", words("--map", "rows=depth"), 2,
		"softmax has no depth: want one of x, y, rows, cols",
	},
	{
		"map of nothing", "mine.cu", rightRow, "softmax", words("--map", "depth=rows"), 2,
		"(it has no|no added file has a) parameter called depth",
	},
	{
		"grid of nothing", "mine.cu", rightRow, "softmax", words("--grid", "depth"), 2,
		`--grid: .*unknown name "depth"; the sizes of softmax are rows, cols`,
	},
	{
		"too many threads for some sizes", "mine.cu", rightRow, "softmax",
		words("--block", "max(cols, 1)"), 1, "CUDA refused the launch.*at most 1024 threads",
	},
	{
		"too many threads", "mine.cu", rightRow, "softmax", words("--block", "2048"), 2,
		`--block "2048": a block has 1024 threads at most`,
	},
	{
		"too many threads in two directions", "mine.cu", rightRow, "softmax", words("--block", "64, 32"), 2,
		`--block "64, 32": a block has 1024 threads at most`,
	},
	{
		"no thread", "mine.cu", rightRow, "softmax", words("--block", "0"), 2,
		`--block "0": 0 is 0 whatever the sizes are: want at least 1`,
	},
	{
		"no block", "mine.cu", rightRow, "softmax", words("--grid", "rows * 0"), 2,
		`--grid "rows \* 0": .* want at least 1`,
	},
	{
		"divided by nothing", "mine.cu", rightRow, "softmax", words("--grid", "rows/0"), 2,
		`--grid "rows/0": .*division by zero`,
	},
	{"too much shared memory", "mine.cu", "__global__ void softmax(const float* x, float* y, int rows, " +
		"int cols) {\n  __shared__ float all[20000];\n" +
		"  all[0] = x[0]; y[0] = all[0];\n}\n", "softmax", nil, 1, `FAIL +0.*\n(.*\n)*.*static shared ` +
		`memory.*12288 floats`},
	{
		"too much dynamic shared memory", "mine.cu", "__global__ void k(const float* x, float* y) {\n  " +
			"extern __shared__ float all[];\n  all[0] = x[0]; y[0] = all[0];\n}\n" +
			"extern \"C\" void solve(const float* x, float* y, int rows, int cols) { k<<<rows, 32, " +
			"300000>>>(x, y); }\n", "softmax",
		words("--dims", "rows=2,cols=3"), 1,
		`FAIL +0.*\n(.*\n)*.*refused the launch in line 5.*more dynamic shared memory`,
	},
	{
		"a backward by its name", "mine.cu@backward", rightRow + "extern \"C\" void solve(const float* x, " +
			"float* y, int rows, int cols) { softmax<<<rows, 1>>>(x, y, rows, cols); }\n" +
			"extern \"C\" void solve_backward(const float* y, const float* grad_y, float* grad_x, int " +
			"rows, int cols) {}\n", "softmax",
		words("--pass", "backward", "--dims", "rows=2,cols=3"),
		1, "solve_backward.*\n.*softmax backward, fp32: y is y",
	},
	{
		"flags", "mine.cu", strings.Replace(rightRow, "/ s;", "/ s * SCALE;", 1), "softmax",
		words("--nvcc-flags", "-DSCALE=1 -use_fast_math"), 0,
		`compiled with -DSCALE=1; in the emulator these flags say nothing: -use_fast_math`,
	},
	{
		"other flags", "mine.cu", strings.Replace(rightRow, "/ s;", "/ s * SCALE;", 1), "softmax",
		words("--nvcc-flags", "-DSCALE=2"), 1, "mine/mine.cu +FAIL",
	},
	{
		"empty tensors", "mine.cu", "__global__ void k(const float* x, float* y, int n) { y[blockIdx.x] = " +
			"x[blockIdx.x]; }\n" +
			"extern \"C\" void solve(const float* x, float* y, int rows, int cols) { k<<<rows, 1>>>(x, y, " +
			"cols); }\n", "softmax",
		words("--dims", "rows=0,cols=13"),
		3, "on empty tensors it launches 0 blocks, which CUDA refuses: return first where a size is 0",
	},
	{
		"own grid", "mine.cu", rightRow, "softmax", words("--grid", "(rows + 31) / 32", "--block", "32"), 0,
		`launched with grid \(\(rows \+ 31\) / 32\) and block \(32\)\n`,
	},
	{
		"own shared memory", "mine.cu", rightRow, "softmax", words("--shared", "4 * cols"), 0,
		`4 \*cols bytes of dynamic shared memory`,
	},
	{"two operators", "mine.cu", rightRow, "all", nil, 2, "--add speaks of one operator"},
	{
		"no backward", "mine.cu", rightRow, "softmax", words("--pass", "backward"), 2,
		"it has no backward: .*--add FILE:NAME@backward",
	},
	{
		"mine without a file", "", "", "softmax", words("--impl", "mine"), 2,
		"no file of your own is here; name it with --add FILE",
	},
	{
		"flags without a file", "", "", "softmax", words("--map", "x=y", "--contract", "eager"), 2,
		"speak of a file that --add names",
	},
}

// TestOwnFilesThatCannotBeJudged: what cannot be judged is reported in one sentence with what to do, and the
// exit code says who must act.
func TestOwnFilesThatCannotBeJudged(t *testing.T) {
	need.Tool(t, "g++")
	for _, c := range unjudged {
		t.Run(c.name, func(t *testing.T) {
			folder := steadyFolder(t, "unjudged-"+c.name)
			args := []string{"compare", c.op, "--quick", "--device", "cpu"}
			if c.file != "" {
				file := regexp.MustCompile(`[:@].*`).ReplaceAllString(c.file, "")
				if err := os.WriteFile(filepath.Join(folder, file), []byte(c.text), 0o644); err != nil {
					t.Fatal(err)
				}
				args = append(args, "--impl", "mine", "--add", filepath.Join(folder, c.file))
			}
			text, code := runTriad(t, append(args, c.flags...)...)
			if code != c.code || !regexp.MustCompile(c.says).MatchString(text) {
				t.Errorf("exit %d, want %d, and %q in\n%s", code, c.code, c.says, text)
			}
		})
	}
}

// TestFileInPlaceOfAnOperator: a file in the place of an operator is answered with the command that judges
// it.
func TestFileInPlaceOfAnOperator(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"mine.cu": rightRow, "gated.cu": "extern \"C\" void solve(const float* gate, const float* up, " +
			"float* out, int n) {}\n", "empty.cu": "int x;\n",
		"mine.py": "def layer_norm(x, weight, bias, eps):\n    return x\n", "notes.txt": "softmax\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(folder)
	for _, c := range []struct{ words, says string }{
		{"mine.cu", `mine\.cu is a file, not an operator: triad compare softmax --add mine\.cu\n`},
		{"./mine.cu:softmax@forward", `triad compare softmax --add \./mine\.cu:softmax@forward\n`},
		{filepath.Join(folder, "mine.cu"), `triad compare softmax --add /\S+/mine\.cu\n`},
		{"gated.cu", `triad compare swiglu --add gated\.cu\n`},
		{"mine.py", `triad compare layernorm --add mine\.py\n`},
		{"rope ./mine.cu", `triad compare rope --add \./mine\.cu\n`},
		{"empty.cu", `triad compare OP --add empty\.cu, where OP is what it implements, one of ` +
			strings.Join(catalog.Names(), ", ") + `\n`},
		{"nowhere.cu", `there is no file nowhere\.cu; .*triad compare OP --add FILE`},
		{"no/where.py", `there is no file no/where\.py; `},
		{"./notes.txt", `it is a file: want the folder of an operator`},
	} {
		for _, command := range []string{"compare", "watch"} {
			if command == "watch" && c.words != "./mine.cu:softmax@forward" {
				continue
			}
			text, code := runTriad(t, append([]string{command, "--device", "cpu"},
				strings.Fields(c.words)...)...)
			if code != 2 || !regexp.MustCompile(c.says).MatchString(text) {
				t.Errorf("%s %s: exit %d, want 2 and %q in\n%s", command, c.words, code, c.says, text)
			}
		}
	}
	t.Run("the command that is named works", func(t *testing.T) {
		need.Tool(t, "g++")
		if text, code := runTriad(t, "compare", "softmax", "--add", "mine.cu", "--impl", "mine", "--device",
			"cpu", "--quick", "--dims", "rows=3,cols=5"); code != 0 {
			t.Errorf("exit %d\n%s", code, text)
		}
	})
}

// TestBadFilesDoNotStopTheOthers: files that are not understood do not keep the others from being judged: all
// are reported in one run, and the exit code is that of usage.
func TestBadFilesDoNotStopTheOthers(t *testing.T) {
	need.Tool(t, "g++")
	folder := t.TempDir()
	args := []string{
		"compare", "softmax", "--quick", "--device", "cpu", "--impl", "mine", "--add",
		filepath.Join(folder, "nowhere.cu"),
	}
	for name, text := range map[string]string{
		"good.cu": rightRow, "empty.cu": "int x;\n", "program.cu": "int main() { return 0; }\n",
		"whole.cu":   "extern \"C\" void solve(const long long* x, long long* y, int rows, int cols) {}\n",
		"several.cu": rightRow + strings.Replace(rightRow, "void softmax", "void softmax2", 1),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--add", filepath.Join(folder, name))
	}
	text, code := runTriad(t, args...)
	for _, want := range []string{
		`mine/good\.cu +PASS`,
		`Exit 2: the request cannot be understood: --add \S*nowhere.cu: cannot read the file: no such ` +
			`file or directory \(and 3 more, above the table\)`, `nowhere.cu: cannot read the file: no ` +
			`such file`, `empty.cu: it has no function to judge`, `program.cu: it has a main\(\)`,
		`whole.cu: (?s:.*)x is int64`, `mine/several\.cu:softmax +PASS`, `mine/several\.cu:softmax2 +PASS`,
	} {
		if code != 2 || !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("exit %d, want 2 and %q in\n%s", code, want, text)
		}
	}
	// A word of --map applies to the file that has such a parameter.
	odd := "__global__ void k(const float* x, float* y, int p, int q) {" + strings.NewReplacer("rows", "p",
		"cols", "q").Replace(rightRow[strings.Index(rightRow, "\n"):])
	if err := os.WriteFile(filepath.Join(folder, "odd.cu"), []byte(odd), 0o644); err != nil {
		t.Fatal(err)
	}
	text, code = runTriad(t, "compare", "softmax", "--device", "cpu", "--impl", "mine", "--add",
		filepath.Join(folder, "good.cu"), "--add", filepath.Join(folder, "odd.cu"),
		"--map", "p=rows,q=cols", "--dims", "rows=3,cols=5", "--quick")
	if code != 0 || !regexp.MustCompile(`mine/good\.cu +PASS(.*\n)+.*mine/odd\.cu +PASS`).MatchString(text) {
		t.Errorf("exit %d\n%s", code, text)
	}
	// What is wrong comes before what was not understood, and so does what does not compile.
	for name, broken := range map[string]string{"FAIL": strings.Replace(rightRow, "rows) return",
		"rows - 1) return", 1), "BUILD_FAIL": rightRow + "garbage;\n"} {
		if err := os.WriteFile(filepath.Join(folder, "wrong.cu"), []byte(broken), 0o644); err != nil {
			t.Fatal(err)
		}
		text, code = runTriad(t, append(args, "--add", filepath.Join(folder, "wrong.cu"))...)
		if code != 1 || !regexp.MustCompile(`mine/wrong\.cu +`+name).MatchString(text) ||
			!regexp.MustCompile(`mine/good\.cu +PASS`).MatchString(text) {
			t.Errorf("exit %d, want 1 and %s\n%s", code, name, text)
		}
	}
}

// TestVersionsOfAFileAreListed: every version of a file stays in the list, distinguished by its contents.
func TestVersionsOfAFileAreListed(t *testing.T) {
	need.Tool(t, "g++")
	folder := t.TempDir()
	file, db := filepath.Join(folder, "mine.cu"), filepath.Join(folder, "r.db")
	for _, text := range []string{rightRow, rightRow + "// edited\n", rightRow + "// edited again\n"} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if text, code := runTriad(t, "compare", "softmax", "--device", "cpu", "--db", db, "--impl", "mine",
			"--add", file, "--dims", "rows=3,cols=5", "--layout", "contiguous",
			"--distribution", "normal"); code != 0 {
			t.Fatalf("exit %d\n%s", code, text)
		}
	}
	text, _ := runTriad(t, "results", "list", "--db", db, "--impl", "mine")
	versions := map[string]bool{}
	version := regexp.MustCompile(`(?m)mine/mine\.cu .*PASS.* ([0-9a-f]{8})$`)
	for _, m := range version.FindAllStringSubmatch(text, -1) {
		versions[m[1]] = true
	}
	if len(versions) != 3 {
		t.Errorf("%d versions, want 3\n%s", len(versions), text)
	}
}

// TestFilesThatAreTooLarge: a file that is too large, or defines too much, is rejected at once with a
// sentence.
func TestFilesThatAreTooLarge(t *testing.T) {
	folder := t.TempDir()
	var many strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&many, "\ndef f%d(x):\n    return x.softmax(%d)\n", i, i)
	}
	kernels := strings.Repeat("__global__ void k(float* y) {}\n", 1000)
	for name, file := range map[string]struct{ text, says string }{
		"many.cu": {kernels, "it defines 1000 functions, and triad looks at 300 at most"},
		"huge.py": {"# a comment\n" + strings.Repeat("#\n", 3<<20), "a file of kernels may have 4194304"},
		"huge.cu": {strings.Repeat("//\n", 3<<20), "a file of kernels may have 4194304"},
		"many.py": {many.String(), "it defines 1000 functions, and triad looks at 300 at most"},
	} {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(file.text), 0o644); err != nil {
			t.Fatal(err)
		}
		text, code := runTriad(t, "compare", judgedOperator, "--device", "cpu", "--quick", "--add", path)
		if code != int(session.ExitUsage) || !strings.Contains(text, file.says) {
			t.Errorf("%s: exit %d, want 2 and %q in\n%.400s", name, code, file.says, text)
		}
	}
}
