package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/session"
)

// wrongGradient is how a planted gradient must end: with this status in some case, in these words (a regular expression over the message), and
// never with another bad status.
type wrongGradient struct {
	status op.Status
	words  string
}

var failed = op.StatusFail

// wrongGradients are the rows of testdata/wrong_gradients. Those called right, and torch/function, must pass.
var wrongGradients = map[string]map[string]wrongGradient{
	"softmax": {
		"triton/upstream_ignored": {failed, `grad_x\[.* elements are wrong`},
		"triton/mean_for_sum":     {failed, `grad_x\[.* elements are wrong`},
		"triton/term_missing":     {failed, `grad_x\[.* elements are wrong`},
		"triton/doubled":          {failed, `the wrong values are 2 times the truth`},
		"triton/accumulates":      {op.StatusRace, `grad_x\[.*\] is NaN, want `},
		"triton/wrong_shape":      {failed, `grad_x came back with shape \[40 9\], want \[9 40\]`},
		"triton/wrong_dtype":      {failed, `grad_x came back as fp64, want (fp32|bf16)`},
		"triton/nan_in_one":       {failed, `grad_x\[4,20\] is NaN, want .*; 1 of 360 elements are wrong`},
		"triton/no_gradient":      {failed, `grad_x did not come back from launch 1`},
		"torch/wrong_function":    {failed, `opposite sign`},
		"torch/forward_alone":     {op.StatusMissing, `torch/forward_alone has no backward pass`},
	},
	"layernorm": {
		"triton/term_missing":       {failed, `grad_x\[.* elements are wrong`},
		"triton/last_block_dropped": {failed, `grad_(weight|bias)\[.* elements are wrong`},
		"triton/mean_for_sum":       {failed, `the wrong values are 0.11.* times the truth`},
		"triton/swapped_outputs":    {failed, `grad_weight\[.* elements are wrong`},
		"triton/no_bias_gradient":   {failed, `grad_bias did not come back from launch 1`},
		"triton/saves_no_rstd":      {op.StatusMissing, `its forward triton/saves_no_rstd does not give rstd`},
		"torch/wrong_alone":         {failed, `where each input alone requires its gradient: grad_x\[`},
	},
	"swiglu": {
		"triton/upstream_ignored":   {failed, `grad_gate\[.* elements are wrong`},
		"triton/term_missing":       {failed, `grad_gate\[.* elements are wrong`},
		"triton/sign":               {failed, `the wrong values have the opposite sign`},
		"triton/swapped_outputs":    {failed, `grad_gate\[.* elements are wrong`},
		"triton/last_block_dropped": {failed, `grad_gate\[.*\] was never written`},
	},
	"rope": {
		"triton/forward_angle":  {failed, `grad_q\[.* elements are wrong`},
		"triton/halved":         {failed, `the wrong values are 0\.(5|4999) times the truth`},
		"triton/halves_swapped": {failed, `grad_q\[.* elements are wrong`},
		"triton/q_not_turned":   {failed, `grad_q\[.* elements are wrong`},
	},
	"fp8_gemm": {
		"triton/last_block_dropped": {failed, `grad_a\[.* elements are wrong`},
		"triton/scale_missing":      {failed, `the wrong values are .* times the truth`},
		"triton/transposed":         {failed, `each wrong value is the truth of the transposed place`},
		"triton/swapped_outputs":    {failed, `grad_a (came back with shape|\[.* elements are wrong)|grad_a\[`},
	},
	"flash_attention": {
		"triton/delta_missing":             {failed, `grad_q\[.* elements are wrong`},
		"triton/scale_missing":             {failed, `the wrong values are (4|4\.00.|3\.99.) times the truth`},
		"triton/not_summed_over_the_group": {failed, `grad_k\[.* elements are wrong`},
		"triton/swapped_outputs":           {failed, `grad_k\[.* elements are wrong`},
		"triton/aligned_top_left":          {failed, `grad_[qkv]\[.* elements are wrong`},
	},
}

// sizes are small enough for every program of the planted kernels to hold what it needs.
var sizesOf = map[string][]string{
	"softmax": {"--dims", "rows=9,cols=40"}, "layernorm": {"--dims", "rows=9,cols=40"}, "swiglu": {"--dims", "rows=9,cols=140"},
	"rope":            {"--dims", "batch=2,seq=5,heads_q=3,heads_k=2,head_dim=8,max_pos=9", "--attr", "offset=3"},
	"fp8_gemm":        {"--dims", "m=40,n=50,k=40", "--attr", "scaling=tensor", "--attr", "out=fp32"},
	"flash_attention": {"--dims", "batch=2,heads_q=4,heads_kv=2,seq_q=9,seq_kv=12,head_dim=16", "--attr", "causal=true"},
}

// Every planted gradient is rejected for what is wrong with it, in the widest dtype and the one with the fewest digits; the right ones beside
// it pass, and the truth is proven first.
func TestWrongGradients(t *testing.T) {
	python := testPython(t)
	for name, expected := range wrongGradients {
		t.Run(name, func(t *testing.T) {
			records := gradcheckPlanted(t, name, python)
			seen := map[string]bool{}
			for _, r := range records {
				want, wrong := expected[r.Impl]
				_, variant, _ := strings.Cut(r.Impl, "/")
				switch {
				case wrong && r.Status.Weight() == op.Bad && r.Status != want.status && r.Status != failed:
					t.Errorf("%s %s: %v %s", r.Impl, r.DType, r.Status, r.Message)
				case wrong && r.Status == want.status && regexp.MustCompile(want.words).MatchString(messages(r)):
					seen[r.Impl] = true
				case wrong && r.Status == want.status:
					t.Logf("%s %s: %v %s", r.Impl, r.DType, r.Status, messages(r))
				case !wrong && variant != "right" && variant != "function":
					t.Errorf("%s is not in the table", r.Impl)
				case !wrong && r.Status.Weight() == op.Bad:
					t.Errorf("%s %s: %v %s", r.Impl, r.DType, r.Status, r.Message)
				case !wrong && r.Status == op.StatusPass:
					seen[r.Impl] = true
				}
			}
			for impl, want := range expected {
				if !seen[impl] {
					t.Errorf("%s did not end %v, %q", impl, want.status, want.words)
				}
			}
			if !seen["triton/right"] {
				t.Error("triton/right did not pass")
			}
		})
	}
}

// messages is everything a record says: of the row and of its outputs.
func messages(r result) string {
	all := []string{r.Message}
	for _, o := range r.Outputs {
		all = append(all, o.Message+"; "+o.Pattern)
	}
	return strings.Join(all, "\n")
}

// gradcheckPlanted runs triad gradcheck with the planted gradients of an operator in place of its own.
func gradcheckPlanted(t *testing.T, name, python string) []result {
	t.Helper()
	overlay := t.TempDir()
	text, err := os.ReadFile(filepath.Join("testdata", "wrong_gradients", name+".py"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(overlay, "triton"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(overlay, "triton", name+".py"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	impls := "triton"
	if bytes.Contains(text, []byte(`"torch/`)) {
		impls += ",torch"
	}
	args := append([]string{"gradcheck", name, "--impl", impls, "--distribution", "normal", "--json", "--db", filepath.Join(t.TempDir(), "r.db")},
		sizesOf[name]...)
	if name != "fp8_gemm" {
		args = append(args, "--dtype", "fp32,bf16")
	}
	cmd := exec.Command("triad", args...)
	cmd.Env = append(os.Environ(), "TRIAD_TEST_OVERLAY="+overlay, "TRIAD_PYTHON="+python)
	var out, errors bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errors
	if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != int(session.ExitBad) {
		t.Fatalf("triad %v: %v, want exit code 1\n%s%s", args, err, errors.String(), out.String())
	}
	var records []result
	lines := bufio.NewScanner(&out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r result
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatalf("%v in %s", err, lines.Text())
		}
		if r.Pass != op.Backward {
			t.Errorf("%s was judged %v", r.Impl, r.Pass)
		}
		records = append(records, r)
	}
	return records
}
