package problem

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestInOrder: results come in order, whichever work ends first; an error of take ends it.
func TestInOrder(t *testing.T) {
	var got []int
	work := func(_ context.Context, i int) int {
		time.Sleep(time.Duration(3-i%4) * time.Millisecond)
		return i * i
	}
	err := inOrder(t.Context(), 9, work, func(i, square int) error {
		if square != i*i {
			t.Errorf("%d: %d", i, square)
		}
		got = append(got, i)
		return nil
	})
	if err != nil || !slices.Equal(got, []int{0, 1, 2, 3, 4, 5, 6, 7, 8}) {
		t.Errorf("%v, %v", got, err)
	}
	enough := errors.New("enough")
	if err := inOrder(t.Context(), 1000, work, func(i, _ int) error {
		if i == 2 {
			return enough
		}
		return nil
	}); !errors.Is(err, enough) {
		t.Errorf("%v", err)
	}
}

// TestAudit: a row says what a description shows, without the message of an exception; what was done is not
// described again.
func TestAudit(t *testing.T) {
	folder := t.TempDir()
	answer := map[string]string{
		"sound": strings.Replace(described, `["zeros", "the input x"]`, "[]", 1), "weak": described,
		"constant": `{"refused": "its answer is the same for other inputs.", "constant": true}`,
		"raises":   `{"refused": "calling it raised ValueError: the problem's own words."}`,
		"gone":     "",
	}
	names := []string{"sound", "weak", "constant", "raises", "gone"}
	var found []Problem
	for _, name := range names {
		path := wrote(t, filepath.Join(folder, "set", name+".py"), model+"# "+name+"\n")
		found = append(found, Problem{Path: path, Format: "kernelbench", Operator: name})
	}
	var calls atomic.Int32
	audit := Audit{
		Elements: 64, Folder: filepath.Join(folder, "kept"), Version: "1",
		Describe: func(_ context.Context, r Request) ([]byte, error) {
			calls.Add(1)
			if r.Elements != 64 {
				t.Errorf("cut to %d elements", r.Elements)
			}
			name := strings.Fields(r.Files["problem.py"][strings.LastIndex(r.Files["problem.py"], "#"):])[1]
			return []byte(answer[name]), nil
		},
	}
	const want = `sound     sound
weak      weak         its own check accepts zeros, and the input x
constant  constant     its answer is the same for other inputs
raises    unjudgeable  calling it raised ValueError
gone      unjudgeable  reading it ended without a description
kernelbench: 5 problems: 1 sound, 1 weak, 1 constant, 2 unjudgeable
`
	for range 2 {
		var out strings.Builder
		table := NewTable(&out, false, found)
		if err := audit.All(t.Context(), found, table.Row); err != nil {
			t.Fatal(err)
		}
		if judged, err := table.End(); err != nil || judged != 3 || out.String() != want {
			t.Errorf("%d judged, %v:\n%s", judged, err, out.String())
		}
	}
	if calls.Load() != 5 {
		t.Errorf("%d descriptions of 5 problems", calls.Load())
	}
	var out strings.Builder
	table := NewTable(&out, true, found)
	if err := audit.All(t.Context(), found, table.Row); err != nil {
		t.Fatal(err)
	}
	if _, err := table.End(); err != nil ||
		!strings.Contains(out.String(), `"verdict":"weak","passes":["zeros","the input x"]`) ||
		!strings.HasSuffix(out.String(), `"unjudgeable":2}`+"\n") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// TestFilesOfATask: task.yml names the files of a problem, in either style of YAML; the hash is of all of
// them.
func TestFilesOfATask(t *testing.T) {
	folder := t.TempDir()
	task := wrote(t, filepath.Join(folder, "pmpp", "sum_py", "task.yml"), `files:
  - {"name": "submission.py", "source": "@SUBMISSION@"}
  - {"name": "utils.py", "source": "../utils.py"}
  - name: reference.py
    source: reference.py
  - {"name": "eval.py", "source": "../eval.py"}
  - {"name": "x.py", "source": "../../../../x.py"}
  - {"name": "passwd", "source": "/etc/passwd"}
`)
	reference := wrote(t, filepath.Join(folder, "pmpp", "sum_py", "reference.py"), "def ref_kernel(): pass\n")
	utils := wrote(t, filepath.Join(folder, "pmpp", "utils.py"), "")
	found, err := List(folder, "")
	if err != nil || len(found) != 1 || found[0].Operator != "gpumode_pmpp_sum_py" {
		t.Fatalf("%+v, %v", found, err)
	}
	source, err := read(t.Context(), found[0])
	if err != nil || len(source.Files) != 3 || source.First != "task.yml" ||
		source.Files["reference.py"] == nil || source.Files["utils.py"] == nil || source.Path != task {
		t.Fatalf("%+v, %v", source, err)
	}
	before := source.SHA256
	wrote(t, utils, "changed = "+strconv.Itoa(1)+"\n")
	if source, err = read(t.Context(), found[0]); err != nil || source.SHA256 == before {
		t.Errorf("the hash after a change: %s, %v", source.SHA256, err)
	}
	if err := os.Remove(reference); err != nil {
		t.Fatal(err)
	}
	if _, err = read(t.Context(), found[0]); err == nil ||
		!strings.Contains(err.Error(), "its file reference.py cannot be read") {
		t.Errorf("a missing file: %v", err)
	}
}

// TestQuickShapesAreFew: shapes of other values of numbers are judged, and leave --quick as many as it takes.
func TestQuickShapesAreFew(t *testing.T) {
	d := &Description{}
	text := strings.Replace(described, `"own_needs_gpu"`, `"pinned": [`+strings.TrimSuffix(strings.Repeat(
		`{"sizes": {"rows": 5, "height": 7, "of": 3}, "attributes": {"slope": -1.5}},`, 9), ",")+
		`], "own_needs_gpu"`, 1)
	d, err := parseDescription([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	spec := specOf(Problem{Operator: "a_b"}, Source{Path: "/a.py"}, d)
	if quick := strings.Count(spec, "quick = true"); quick+len(d.Quick)+1 > 12 || quick < 8 {
		t.Errorf("%d quick shapes:\n%s", quick, spec)
	}
}
