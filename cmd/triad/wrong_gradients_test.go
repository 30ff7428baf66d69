package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"triad/internal/need"
	"triad/internal/op"
	"triad/internal/session"
)

// wrongGradients describes how the planted gradients of an operator must end:
// testdata/wrong_gradients/OP.toml, next to OP.py, which holds them.
type wrongGradients struct {
	Sizes []string                 // flags
	Rows  map[string]wrongGradient // by implementation
}

// wrongGradient describes how one must end: with this status in some case, in these words (a regular
// expression over the message), and never with another bad status.
type wrongGradient struct {
	Status op.Status
	Words  string
}

// TestWrongGradients: every planted gradient is rejected for its own fault, in the widest dtype and the one
// with the fewest digits; the right ones pass, and the truth is proven first.
func TestWrongGradients(t *testing.T) {
	python := testPython(t)
	for name, planted := range readPlanted[wrongGradients](t, "wrong_gradients") {
		t.Run(name, func(t *testing.T) {
			expected := map[string]wrongGradient{}
			for _, impl := range slices.Sorted(maps.Keys(planted.Rows)) {
				t.Run(impl, func(t *testing.T) { // judged in one command with the others
					key := name
					if planted.Rows[impl].Status.Weight() != op.Bad {
						key = "" // one that declines is no witness
					}
					need.Covers(t, key, slices.Concat(need.Judge, []string{
						"pybridge", "cmd/triad/testdata/wrong_gradients/" + name + ".py",
						"cmd/triad/testdata/wrong_gradients/" + name + ".toml",
					})...)
					expected[impl] = planted.Rows[impl]
				})
			}
			if len(expected) == 0 {
				return
			}
			impls := append(slices.Sorted(maps.Keys(expected)), "triton/right", "torch/function")
			records := gradcheckPlanted(t, name, python, impls, planted.Sizes)
			seen := map[string]bool{}
			for _, r := range records {
				want, wrong := expected[r.Impl]
				_, variant, _ := strings.Cut(r.Impl, "/")
				switch {
				case wrong && r.Status.Weight() == op.Bad && r.Status != want.Status &&
					r.Status != op.StatusFail:
					t.Errorf("%s %s: %v %s", r.Impl, r.DType, r.Status, r.Message)
				case wrong && r.Status == want.Status &&
					regexp.MustCompile(want.Words).MatchString(messages(r)):
					seen[r.Impl] = true
				case wrong && r.Status == want.Status:
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
					t.Errorf("%s did not end %v, %q", impl, want.Status, want.Words)
				}
			}
			if !seen["triton/right"] {
				t.Error("triton/right did not pass")
			}
		})
	}
}

// messages returns all messages of a record: of the row and of its outputs.
func messages(r result) string {
	all := []string{r.Message}
	for _, o := range r.Outputs {
		all = append(all, o.Message+"; "+o.Pattern)
	}
	return strings.Join(all, "\n")
}

// gradcheckPlanted runs triad gradcheck with the planted gradients of an operator in place of its own.
func gradcheckPlanted(t *testing.T, name, python string, impls, sizes []string) []result {
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
	if !bytes.Contains(text, []byte(`"torch/function`)) {
		impls = slices.DeleteFunc(impls, func(impl string) bool { return impl == "torch/function" })
	}
	args := append([]string{
		"gradcheck", name, "--impl", strings.Join(impls, ","), "--distribution", "normal", "--json", "--db",
		filepath.Join(t.TempDir(), "r.db"),
	},
		sizes...)
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
