package look

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"triad/internal/catalog"
	"triad/internal/check"
	"triad/internal/firstlook"
	"triad/internal/op"
	"triad/internal/operatorguess"
	"triad/internal/ownfile/pyfacts"
	"triad/internal/report"
	"triad/internal/session"
)

// stand is a machine that judges by what is written in a file: right, wrong; or fails or waits.
type stand struct {
	Machine
	out bytes.Buffer

	mu            sync.Mutex
	steps         []string // what was run, and of which file
	now, most     atomic.Int64
	python, fault error
	judging       func(path string)
	saves         []func() // what is saved while it waits, one after the other
}

func newStand() *stand {
	s := &stand{judging: func(string) {}}
	note := func(step, path string) {
		s.mu.Lock()
		s.steps = append(s.steps, step+" "+filepath.Base(path))
		s.mu.Unlock()
	}
	s.Machine = Machine{
		Out: &s.out, Color: func(_ firstlook.Verdict, text string) string { return text },
		Parse: func(text string) *pyfacts.File {
			if strings.Contains(text, "@triton.jit") {
				return &pyfacts.File{Functions: []pyfacts.Function{{Name: "k", Form: pyfacts.Kernel}}}
			}
			return &pyfacts.File{}
		},
		Begin: func([]string) {}, Show: func(int, int) {}, NewPage: func() {},
		Python:   func(context.Context) error { return s.python },
		Callable: func(string) bool { return false },
		Check: func(_ context.Context, path string, _ io.Writer) (*check.Report, error) {
			note("check", path)
			return &check.Report{Orders: []string{"forward"}}, nil
		},
		Judge: func(ctx context.Context, path string, g operatorguess.Guess, _ io.Writer) (Trial, error) {
			s.most.Store(max(s.most.Load(), s.now.Add(1)))
			defer s.now.Add(-1)
			note("compare "+g.Operator, path)
			s.judging(path)
			text, err := os.ReadFile(path)
			if err = errors.Join(err, ctx.Err(), s.fault); err != nil {
				return Trial{}, err
			}
			status := op.StatusPass
			if strings.Contains(string(text), "wrong") {
				status = op.StatusFail
			}
			p := firstlook.Pass{Pass: op.Forward, Causes: []firstlook.Cause{{Line: 3, Text: "the cause"}}}
			p.Row.Add(status, "", "")
			t := Trial{Judged: firstlook.Judged{Guess: g, Passes: []firstlook.Pass{p}}}
			if strings.Contains(string(text), "counted") {
				t.Places = []string{"forward: counted like cuda/vec"}
			}
			return t, nil
		},
		State: func(path string) string { text, _ := os.ReadFile(path); return string(text) + "." },
		Changed: func(_ context.Context, _ func() []string, _ map[string]string) bool {
			if len(s.saves) == 0 {
				return false
			}
			s.saves[0]()
			s.saves = s.saves[1:]
			return true
		},
	}
	return s
}

// run looks at paths, and returns what was printed and the exit code.
func (s *stand) run(ctx context.Context, o Options, paths ...string) (string, session.ExitCode) {
	err := Run(ctx, paths, o, s.Machine)
	return s.out.String(), session.CodeOf(err)
}

// names of an operator of the catalog: the first one.
var operator = catalog.All()[0].Spec.Name

// kernelOf is a CUDA file of the operator, named after it.
func kernelOf(says string) string {
	return "// " + says + "\n__global__ void " + operator +
		"(const float *x, const float *y, float *z, int n) {}\n"
}

func write(t *testing.T, folder string, files map[string]string) string {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text),
			0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// Every file of a folder gets a line, in order; what is no kernel or cannot be read does not stop the others.
func TestFolder(t *testing.T) {
	folder := write(t, t.TempDir(), map[string]string{
		"a.cu": kernelOf("right"), "b/wrong.cu": kernelOf("wrong") + "int main() {}\n",
		"notes.py":     "import sys\n",
		"k.py":         "# triton\n@triton.jit\ndef " + operator + "(): pass\n",
		"host.cu":      "// __global__\nint f();\n",
		".hidden/x.cu": kernelOf("wrong"), "tile.cuh": kernelOf("wrong"), "README.md": "wrong",
	})
	for link, to := range map[string]string{"gone.cu": "nowhere.cu", "loop": ".", "twice.cu": "a.cu"} {
		if err := os.Symlink(to, filepath.Join(folder, link)); err != nil {
			t.Fatal(err)
		}
	}
	s := newStand()
	s.python = errors.New("no torch")
	got, code := s.run(t.Context(), Options{}, folder)
	want := []string{
		"a.cu NAME RIGHT 1 case", "b/wrong.cu NAME WRONG line 3: the cause",
		"gone.cu a broken link to nowhere.cu",
		"host.cu no kernel in it", "k.py " + needsPython, "notes.py no kernel in it",
		"Python files need torch and Triton: triad setup",
	}
	for i, line := range strings.Split(strings.TrimSpace(got), "\n") {
		fields := strings.Join(strings.Fields(line), " ")
		if i >= len(want) || !strings.HasPrefix(fields, strings.ReplaceAll(want[i], "NAME", operator)) {
			t.Errorf("line %d is %q", i, fields)
		}
	}
	if code != session.ExitBad || strings.Count(got, "\n") != len(want) {
		t.Errorf("exit %d\n%s", code, got)
	}
	steps := strings.Join(s.steps, ", ")
	if !strings.Contains(steps, "check wrong.cu, compare "+operator+" wrong.cu") || len(s.steps) != 3 {
		t.Errorf("steps: %s; want check before compare, and check of the file with a main() alone", steps)
	}
}

// TestProgressBeforeTheFirstFile: how far a look is shows while the first file is judged, which takes a
// minute where the emulator is built for it.
func TestProgressBeforeTheFirstFile(t *testing.T) {
	folder := write(t, t.TempDir(), map[string]string{"a.cu": kernelOf("right")})
	s, shown := newStand(), false
	s.Show = func(done, all int) { shown = done == 0 && all == 1 }
	s.judging = func(string) {
		if !shown {
			t.Error("nothing is shown while the first file is judged")
		}
	}
	s.run(t.Context(), Options{Once: true}, folder)
}

// TestPlaces: the place of a right kernel stands below its line, and a wrong one has none.
func TestPlaces(t *testing.T) {
	for text, want := range map[string]bool{"right, counted": true, "wrong, counted": false} {
		folder := write(t, t.TempDir(), map[string]string{"a.cu": kernelOf(text)})
		out, _ := newStand().run(t.Context(), Options{Once: true}, folder)
		if strings.Contains(out, "\n    forward: counted like cuda/vec\n") != want {
			t.Errorf("%s: %s", text, out)
		}
	}
}

// Files of an operator of the user's own are judged by compare, which knows that operator.
func TestFilesOfAnOperator(t *testing.T) {
	folder := write(t, t.TempDir(), map[string]string{
		"scale/scale.toml": "", "scale/scale.cu": kernelOf("wrong"), "scale/scale.py": "import torch\n",
		"a.cu": kernelOf("right"),
	})
	s := newStand()
	got, code := s.run(t.Context(), Options{Once: true}, folder)
	says := "part of an operator of your own: triad compare " + filepath.Join(folder, "scale") + " judges it"
	if code != session.ExitGood || strings.Count(got, says) != 2 || len(s.steps) != 1 {
		t.Errorf("exit %d after %q\n%s", code, s.steps, got)
	}
}

// A right kernel with a barrier is checked too: its line names the barriers that threads never come to.
func TestBarriersOfARightKernel(t *testing.T) {
	folder := write(t, t.TempDir(), map[string]string{
		"a.cu": kernelOf("right: __syncthreads()"), "b.cu": kernelOf("right"),
		"c.cu": kernelOf("wrong: __syncthreads()"),
	})
	s := newStand()
	var checked []string
	s.Check = func(_ context.Context, path string, _ io.Writer) (*check.Report, error) {
		checked = append(checked, filepath.Base(path))
		return &check.Report{
			Findings: []check.Finding{{Kind: check.Race}}, // at sizes that may not be meant
			Notes:    []string{"a.cu:9, kernel k: threads end and never come to this barrier. So it is."},
		}, nil
	}
	got, code := s.run(t.Context(), Options{Once: true}, filepath.Join(folder, "a.cu"),
		filepath.Join(folder, "b.cu"))
	if code != session.ExitGood || strings.Count(got, "but line 9: not all threads reach this") != 1 {
		t.Errorf("exit %d\n%s", code, got)
	}
	s.run(t.Context(), Options{Once: true}, filepath.Join(folder, "c.cu"))
	if !slices.Equal(checked, []string{"a.cu"}) {
		t.Errorf("%q were checked, want a.cu", checked)
	}
}

// If two operators fit, both are tried, and the file is the one that passes.
func TestTwoOperatorsThatFit(t *testing.T) {
	folder := write(t, t.TempDir(), map[string]string{
		"k.cu": "__global__ void k(const float *in, float *out, int n) {\n\tout[0] = in[0] / (1 + " +
			"expf(-in[0]));\n}\n",
	})
	s := newStand()
	judge, first := s.Judge, ""
	s.Judge = func(ctx context.Context, path string, g operatorguess.Guess, to io.Writer) (Trial, error) {
		trial, err := judge(ctx, path, g, to)
		if first == "" { // it is not this one
			first = g.Operator
			trial.Passes[0].Row.Add(op.StatusFail, "", "")
		}
		return trial, err
	}
	got, code := s.run(t.Context(), Options{}, folder)
	if code != session.ExitGood || len(s.steps) != 2 || strings.Contains(got, first+" ") ||
		!strings.Contains(got, "RIGHT") {
		t.Errorf("exit %d after %q, the first of them wrong\n%s", code, s.steps, got)
	}
}

// The exit code is that of compare.
func TestExitCodes(t *testing.T) {
	folder := write(t, t.TempDir(), map[string]string{
		"right.cu": kernelOf("right"), "wrong.cu": kernelOf("wrong"), "notes.py": "import sys\n",
		"empty/README.md": "", "open.cu": "__global__ void f(char ***x) {}\n", "x.txt": "",
	})
	at := func(names ...string) (all []string) {
		for _, n := range names {
			all = append(all, filepath.Join(folder, n))
		}
		return all
	}
	for _, c := range []struct {
		paths []string
		want  session.ExitCode
	}{
		{at("right.cu"), session.ExitGood},
		{at("right.cu", "notes.py"), session.ExitGood},
		{at("right.cu", "wrong.cu"), session.ExitBad},
		{at("right.cu", "open.cu"), session.ExitNothing},
		{at("notes.py"), session.ExitNothing},
		{at("empty"), session.ExitNothing},
		{at("gone.cu"), session.ExitUsage},
		{at("gone"), session.ExitUsage},
		{at("x.txt"), session.ExitUsage},
	} {
		if got, code := newStand().run(t.Context(), Options{Once: true}, c.paths...); code != c.want {
			t.Errorf("%v: exit %d, want %d\n%s", c.paths, code, c.want, got)
		}
	}
	s := newStand()
	s.fault = errors.New("an error of triad")
	if got, code := s.run(t.Context(), Options{}, at("right.cu")...); code != session.CodeOf(s.fault) {
		t.Errorf("exit %d after an error\n%s", code, got)
	}
}

// Many files are judged at most one a core at a time, and Ctrl-C ends at once: it names what is left.
func TestManyFilesAndInterrupt(t *testing.T) {
	files := map[string]string{}
	for i := range 40 {
		files[fmt.Sprintf("k%02d.cu", i)] = kernelOf("right")
	}
	folder := write(t, t.TempDir(), files)
	s := newStand()
	s.judging = func(string) { runtime.Gosched() }
	got, code := s.run(t.Context(), Options{}, folder)
	if code != session.ExitGood || strings.Count(got, "RIGHT") != 40 {
		t.Errorf("exit %d\n%s", code, got)
	}
	if most := s.most.Load(); most > int64(runtime.GOMAXPROCS(0)) {
		t.Errorf("%d files were judged at once", most)
	}

	s = newStand()
	ctx, stop := context.WithCancel(t.Context())
	s.judging = func(path string) {
		if strings.HasSuffix(path, "k20.cu") {
			stop()
		}
	}
	began := time.Now()
	got, code = s.run(ctx, Options{}, folder)
	if code != session.ExitNothing || !strings.Contains(got, "of 40 files were not looked at") ||
		strings.Count(got, "RIGHT") < 10 || time.Since(began) > 20*time.Second {
		t.Errorf("exit %d\n%s", code, got)
	}
}

// A file is not said to need a Python because Ctrl-C came before that was known.
func TestInterruptBeforePythonIsKnown(t *testing.T) {
	folder := write(t, t.TempDir(), map[string]string{
		"k.py": "# triton\n@triton.jit\ndef " + operator + "(): pass\n",
	})
	s := newStand()
	ctx, stop := context.WithCancel(t.Context())
	s.Python = func(ctx context.Context) error {
		stop()
		return ctx.Err()
	}
	got, code := s.run(ctx, Options{}, folder)
	if want := "Stopped: 1 of 1 files were not looked at.\n"; got != want || code != session.ExitNothing {
		t.Errorf("exit %d after %q, want %q", code, got, want)
	}
}

// On a terminal triad waits for saves, and looks again only at what changed; --once and a pipe do not wait.
func TestWatch(t *testing.T) {
	folder := write(t, t.TempDir(), map[string]string{"a.cu": kernelOf("right"), "b.cu": kernelOf("wrong")})
	s := newStand()
	s.Terminal = true
	s.saves = []func(){
		func() { write(t, folder, map[string]string{"b.cu": kernelOf("fixed")}) },
		func() { write(t, folder, map[string]string{"c.cu": kernelOf("new, and wrong")}) },
	}
	got, code := s.run(t.Context(), Options{}, folder)
	if n := strings.Count(got, "Waiting for the next save"); n != 3 || code != session.ExitBad {
		t.Errorf("waited %d times, want 3; exit %d\n%s", n, code, got)
	}
	if len(s.steps) != 4 || strings.Count(strings.Join(s.steps, " "), "a.cu") != 1 {
		t.Errorf("steps: %q, want one of a.cu, two of b.cu and one of c.cu", s.steps)
	}
	for _, o := range []Options{{Once: true}, {}} {
		s := newStand()
		s.Terminal = o.Once
		if got, _ := s.run(t.Context(), o, folder); strings.Contains(got, "Waiting") {
			t.Errorf("%+v: it waits", o)
		}
	}
}

// The page gets each file as soon as it is done, and with it triad watches although nobody reads its output.
func TestPageOfFiles(t *testing.T) {
	folder := write(t, t.TempDir(), map[string]string{"a.cu": kernelOf("wrong"), "b.cu": kernelOf("right")})
	s := newStand()
	var seen []report.LookedAt
	s.Page = func(p report.LookedAt) { seen = append(seen, p) }
	s.saves = []func(){func() { write(t, folder, map[string]string{"a.cu": kernelOf("fixed")}) }}
	if got, code := s.run(t.Context(), Options{}, folder); code != session.ExitGood ||
		strings.Count(got, "Waiting") != 2 {
		t.Errorf("exit %d\n%s", code, got)
	}
	if first := seen[0]; !first.Working || len(first.Files) != 2 || first.Files[0].Done {
		t.Errorf("at first: %+v", first)
	}
	var weights []string
	for _, p := range seen {
		if p.Working {
			continue
		}
		weights = append(weights, p.Files[0].Weight+" "+p.Files[1].Weight)
		if f := p.Files[0]; f.Weight == "bad" && (len(f.Causes) != 1 || f.Causes[0].Line != 3 ||
			f.Source != kernelOf("wrong")) {
			t.Errorf("the wrong file: %+v", f)
		}
	}
	if got := strings.Join(weights, ", "); got != "bad good, good good" {
		t.Errorf("after each round: %s", got)
	}
}

// A word means a path if it exists or looks like one; else it may be a misspelled verb.
func TestNames(t *testing.T) {
	folder := write(t, t.TempDir(), map[string]string{"day3/a.cu": ""})
	for word, want := range map[string]bool{
		filepath.Join(folder, "day3"): true, "./nowhere": true, "nowhere.cu": true, "nowhere.py": true,
		"comparison": false, "": false,
	} {
		if Names(word) != want {
			t.Errorf("%q: %t, want %t", word, !want, want)
		}
	}
}
