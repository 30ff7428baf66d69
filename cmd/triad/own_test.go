package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"triad/internal/need"
)

// ownCase is a file as a user writes it: how it is asked for and what must come out.
type ownCase struct {
	file, op string   // op "": what stands before _solve in the file's name
	flags    []string // what the signature does not say
	status   string   // of the line in the table
	says     string   // a regular expression over what is printed
}

// The files of testdata/own, in the ways people write them.
var ownCases = []ownCase{
	{"softmax_block.cu", "softmax", nil, "PASS", "input is x, output is y, M is rows, N is cols"},
	{"softmax_rowthread.cu", "softmax", nil, "PASS", `grid \(ceildiv\(rows, 256\)\) and block \(256\)`},
	{"softmax_warp_half.cu", "softmax", nil, "PASS", `grid \(ceildiv\(rows, \(256 / 32\)\)\)`},
	{
		"softmax_one_row.cu", "softmax",
		[]string{"--dims", "rows=1"},
		"PASS",
		"no parameter for rows: it is judged with --dims rows=1",
	},
	{"softmax_odd_names.cu", "softmax", []string{"--map", "p=rows,q=cols"}, "PASS", "from is x, to is y"},
	{"softmax_no_max.cu", "softmax", nil, "FAIL", "subtract the row's maximum before exp"},
	{"softmax_missing_barrier.cu", "softmax", nil, "RACE", `put __syncthreads\(\) between`},
	{
		"softmax_square_only.cu", "softmax", nil, "FAIL|OUT_OF_BOUNDS",
		"right where rows = cols and wrong where they differ",
	},
	{
		"softmax_column_major.cu", "softmax", nil, "FAIL",
		`x \[rows, cols\] lies row after row: element \(i, j\) is at i \* cols \+ j`,
	},
	{
		"softmax_writes_transposed.cu", "softmax", nil, "FAIL",
		`(?s)rows=3 cols=7.*row and column are exchanged.*The right values stand in the transposed places: y is written.*element \(i, j\) is at i \* cols \+ j`,
	},
	{"softmax_tail.cu", "softmax", nil, "FAIL", "right where cols is a multiple of 32"},
	{
		"softmax_thread_a_column.cu", "softmax", nil, "FAIL",
		"(?s)refused the launch in line 12.*Cols up to 1024 are right, from 1025 on it is wrong",
	},
	{"softmax_triton.py", "softmax", nil, "PASS", "x is x"},
	{
		"softmax_fills.py", "softmax", nil, "FAIL",
		`(?s)subtract the row's maximum before exp.*Convert to float first`,
	},
	{
		"layernorm_half.cu", "layernorm", nil, "PASS",
		"gamma is weight, beta is bias, out is y, B is rows, C is cols, epsilon is eps",
	},
	{"layernorm_half_sum.cu", "layernorm", nil, "FAIL", "Convert to float first"},
	{"layernorm_one_pass.cu", "layernorm", nil, "FAIL", "subtract the mean first"},
	{"swiglu_flat.cu", "swiglu", nil, "PASS", `n is rows \* cols`},
	{"sum_solve_atomic.cu", "", nil, "PASS", "(?s)input is x, output is y, N is n.*it adds with atomics"},
	{
		"rmsnorm_solve.cu", "", nil, "PASS",
		`(?s)output is y, B is rows, N is cols, eps is eps.*judged with add = false`,
	},
	{
		"rmsnorm_solve_fused_add.cu", "", nil, "PASS",
		`(?s)residual is residual.*residual_out is h, num_tokens is rows.*judged with add = true`,
	},
	{"rmsnorm_solve_torch.py", "", nil, "PASS", "weight is weight, eps is eps"},
	{"rmsnorm_solve_triton.py", "", nil, "PASS", "x is x, weight is weight, eps is eps"},
	{
		"layernorm_warp_llmc.cu", "layernorm", nil, "PASS",
		"T is 1, as a factor of rows, C is cols, block_size is 256 threads",
	},
	{"swiglu_two_dims.cu", "swiglu", nil, "PASS", "num_tokens is rows, intermediate_size is cols"},
	{"swiglu_grid_stride.cu", "swiglu", nil, "PASS", `total_elements is rows \* cols`},
	{
		"swiglu_no_bounds.cu", "swiglu", nil, "OUT_OF_BOUNDS",
		`(?s)swiglu_no_bounds.cu:3.*cols is a multiple of 256 and wrong beside it: a thread works beyond.*if \(i < n\)`,
	},
	{"swiglu_rounds_down.cu", "swiglu", nil, "FAIL", `multiple of 256.*Round the number of blocks up`},
	{"swiglu_torch.py", "swiglu", nil, "PASS", "gate is gate, up is up"},
	{"rope_halves.cu", "rope", nil, "PASS", "n_heads is heads_q, n_kv_heads is heads_k"},
	{
		"rope_interleaved_for_halves.cu", "rope", nil, "FAIL",
		"With interleaved = true it is right.*say --attr interleaved=true",
	},
	{
		"rope_llama.cu", "rope",
		[]string{"--attr", "interleaved=true"},
		"PASS",
		"freqs_cos is cos, freqs_sin is sin",
	},
	{"rope_zero_blocks.cu", "rope", nil, "FAIL", "refused the launch in one of the lines 12, 13"},
	{
		"fp8_gemm_tiled.cu", "fp8_gemm", nil, "PASS",
		`grid \(ceildiv\(n, 16\), ceildiv\(m, 16\)\) and block \(16, 16\)`,
	},
	{
		"fp8_gemm_column_major.cu", "fp8_gemm", nil, "FAIL",
		`right where n or k is 1 and wrong where both are larger: .*b \[n, k\] lies row after row`,
	},
	{
		"fp8_gemm_course.cu", "fp8_gemm", nil, "PASS",
		`numARows is m, numAColumns is k, numBRows is n\n.*grid \(ceildiv\(n, 16\), ceildiv\(m, 16\)\)`,
	},
	{"fp8_gemm_whole_tiles.cu", "fp8_gemm", nil, "FAIL", "right where k is a multiple of 16"},
	{"attention_heads.cu", "flash_attention", nil, "PASS", "H is heads_q = heads_kv, Lq is seq_q"},
	{
		"attention_causal_half.cu", "flash_attention", nil, "PASS",
		`(?s)T is seq_q = seq_kv.*causal = true.*PASS +10 `,
	},
	{"attention_no_scale.cu", "flash_attention", nil, "FAIL", `softmax\(scale \* q k\^T\)`},
	{
		"attention_one_head.cu", "flash_attention",
		[]string{"--dims", "batch=1,heads_q=1,heads_kv=1"},
		"PASS",
		"M is seq_q, N is seq_kv, d is head_dim",
	},
}

// runTriad runs triad with a database of its own and gives what it printed and its exit code.
func runTriad(t *testing.T, args ...string) (string, int) {
	t.Helper()
	self, err := exec.LookPath("triad")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), "XDG_DATA_HOME="+t.TempDir(), "TRIAD_PYTHON="+
		os.Getenv("TRIAD_TEST_PYTHON"))
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return string(text), exit.ExitCode()
	}
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, text)
	}
	return string(text), 0
}

var (
	smallestCase = regexp.MustCompile(`The smallest case found[^\n]*\n\n  ([A-Z_]+) (?:.*\n)+?        triad (compare .*--add .*)\n`)
	// with --verbose behind a dtype
	statusOfAFile = regexp.MustCompile(`(?m)^  mine/\S+ +(?:[a-z]\S+ +)?([A-Z_]+)`)
)

// repeats runs the command that is printed with the smallest case: it must find the same.
func repeats(t *testing.T, text string) {
	t.Helper()
	found := smallestCase.FindStringSubmatch(text)
	if found == nil {
		t.Error("no smallest case with the command that repeats it")
		return
	}
	if strings.Contains(found[2], ".py") {
		return // a start of Python is dear, and names nothing else
	}
	again, code := runTriad(t, strings.Fields(found[2])...)
	if line := statusOfAFile.FindStringSubmatch(again); code != 1 || line == nil || line[1] != found[1] {
		t.Errorf("exit %d, want 1 and %s again from %s\n%s", code, found[1], found[2], again)
	}
}

// Files as users write them are judged without a word more than their signature in most cases; no wrong one
// passes, no right one is accused.
func TestOwnFiles(t *testing.T) {
	need.Tool(t, "g++")
	if testing.Short() {
		t.Skip("-short: it compiles two dozen files")
	}
	files, err := os.ReadDir("testdata/own")
	if err != nil || len(files) != len(ownCases) {
		t.Errorf("%d files in testdata/own, %d in the table (%v)", len(files), len(ownCases), err)
	}
	plain := 0
	for _, c := range ownCases {
		if len(c.flags) == 0 {
			plain++
		}
		if c.op == "" {
			c.op, _, _ = strings.Cut(c.file, "_solve")
		}
		t.Run(c.file, func(t *testing.T) {
			if strings.HasSuffix(c.file, ".py") {
				testPython(t)
			}
			text, code := runTriad(t, append([]string{
				"compare", c.op, "--impl", "mine", "--quick",
				"--verbose", "--device", "cpu", "--add", filepath.Join("testdata", "own", c.file),
			}, c.flags...)...)
			if want := map[bool]int{true: 0, false: 1}[c.status == "PASS"]; code != want {
				t.Errorf("exit %d, want %d", code, want)
			}
			line := statusOfAFile.FindAllStringSubmatch(text, -1)
			if len(line) == 0 {
				t.Fatalf("no line in the table:\n%s", text)
			}
			for _, l := range line {
				if !regexp.MustCompile("^(" + c.status + ")$").MatchString(l[1]) {
					t.Errorf("status %s, want %s", l[1], c.status)
				}
			}
			if !regexp.MustCompile(c.says).MatchString(text) {
				t.Errorf("it does not say %q", c.says)
			}
			if c.status != "PASS" {
				repeats(t, text)
			}
			if t.Failed() {
				t.Log(text)
			}
		})
	}
	if plain*20 < 17*len(ownCases) {
		t.Errorf("%d of %d files are judged without a flag, want 17 of 20", plain, len(ownCases))
	}
}
