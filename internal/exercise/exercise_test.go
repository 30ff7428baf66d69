package exercise

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"triad/internal/op"
	"triad/internal/record"
)

// Every folder is listed once, in rising order of days, with all that an exercise needs; no starter holds the
// solution, and each source carries the line that says how its function is called.
func TestExercisesAreWhole(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	folders, err := fs.Glob(files, "exercises/*/*")
	if err != nil {
		t.Fatal(err)
	}
	listed, day := map[string]bool{}, 1
	for _, e := range all {
		if listed[e.Name] || e.Day < day || e.Day > 100 {
			t.Errorf("%s on day %d: it stands in order.txt twice, or its day comes too early", e.Name, e.Day)
		}
		listed[e.Name], day = true, e.Day
		if e.Idea == "" || e.Watch == "" || e.Mistake == "" {
			t.Errorf("%s: exercise.toml lacks the idea, what to watch for, or the mistake", e.Name)
		}
		if e.Starter == e.Solution || e.Wrong == e.Solution || !strings.Contains(e.Starter, "TODO") ||
			strings.Contains(e.Solution, "TODO") {
			t.Errorf("%s: the starter has a TODO and the solution none, and all three differ", e.Name)
		}
		for _, source := range []string{e.Starter, e.Solution, e.Wrong} {
			if !declares(source, e) {
				t.Errorf("%s: a source lacks a line // triad: %s(...)", e.Name, e.Op)
			}
		}
	}
	page, err := os.ReadFile("../../docs/learn.md")
	if want := fmt.Sprintf("`triad learn` has %d exercises", len(all)); err != nil ||
		!strings.Contains(string(page), want) {
		t.Errorf("docs/learn.md does not say %q: %v", want, err)
	}
	for _, folder := range folders {
		if name := strings.TrimPrefix(folder, "exercises/"); !listed[name] {
			t.Errorf("order.txt does not list %s", name)
		}
	}
}

// declares reports whether a source has a declaration of the exercise's operator.
func declares(source string, e Exercise) bool {
	mark := map[string]string{".cu": "// triad: ", ".py": "# triad: "}[path.Ext(e.File)]
	return strings.Contains("\n"+source, "\n"+mark+e.Op+"(")
}

// An incomplete folder is an error with its name.
func TestIncompleteExercises(t *testing.T) {
	whole := fstest.MapFS{
		"exercises/order.txt":           {Data: []byte("# days\n 3 add/one\n")},
		"exercises/add/one/starter.cu":  {Data: []byte("a")},
		"exercises/add/one/solution.cu": {Data: []byte("b")},
		"exercises/add/one/wrong.cu":    {Data: []byte("c")},
		"exercises/add/one/exercise.toml": {
			Data: []byte("idea = \"i\"\nmistake = \"m\"\nwatch = \"w\"\npass = \"backward\"\n"),
		},
	}
	all, err := read(whole)
	if err != nil || len(all) != 1 || all[0].Pass != op.Backward || all[0].File != "add_one.cu" ||
		all[0].Day != 3 || all[0].Op != "add" {
		t.Fatalf("%+v, %v", all, err)
	}
	for name := range whole {
		part := fstest.MapFS{}
		for other, file := range whole {
			if other != name {
				part[other] = file
			}
		}
		if _, err := read(part); err == nil || !strings.Contains(err.Error(), "exercises/") {
			t.Errorf("without %s: %v", name, err)
		}
	}
	for _, line := range []string{"3", "x add/one", "3 add/one more"} {
		whole["exercises/order.txt"] = &fstest.MapFile{Data: []byte(line)}
		if _, err := read(whole); err == nil {
			t.Errorf("order.txt %q is read", line)
		}
	}
}

// What makes an exercise done: a whole, complete and good session about a file of its name.
func TestDone(t *testing.T) {
	e := Exercise{Name: "add/one", Op: "add", Pass: op.Forward, File: "add_one.cu"}
	day := func(n int) time.Time { return time.Date(2026, 11, n, 9, 0, 0, 0, time.UTC) }
	good := record.Tally{
		Session: "s", Op: "add", Pass: op.Forward, Impl: "mine/add_one.cu", Complete: true, Good: 3,
		Command: []string{"compare", "add"}, Started: day(5),
	}
	for _, c := range []struct {
		what   string
		change func(*record.Tally)
		done   bool
	}{
		{"it passed", func(*record.Tally) {}, true},
		{"a function of it", func(t *record.Tally) { t.Impl = "mine/day3/add_one.cu:ns::f<float>" }, true},
		{"cases it does not take", func(t *record.Tally) { t.Neutral = 4 }, true},
		{"a dtype was chosen", func(t *record.Tally) { t.Command = []string{"--dtype=fp32"} }, true},
		{"another file", func(t *record.Tally) { t.Impl = "mine/add_one.py" }, false},
		{"another operator", func(t *record.Tally) { t.Op = "sum" }, false},
		{"the other pass", func(t *record.Tally) { t.Pass = op.Backward }, false},
		{"a wrong case", func(t *record.Tally) { t.Bad = 1 }, false},
		{"nothing good", func(t *record.Tally) { t.Good = 0 }, false},
		{"a guess", func(t *record.Tally) { t.NotUnderstood = 1 }, false},
		{"a stopped session", func(t *record.Tally) { t.Complete = false }, false},
		{"chosen sizes", func(t *record.Tally) { t.Command = []string{"--dims", "rows=1"} }, false},
		{"chosen inputs", func(t *record.Tally) { t.Command = []string{"--distribution=zeros"} }, false},
	} {
		tally := good
		c.change(&tally)
		if _, done := Done([]Exercise{e}, []record.Tally{tally})[e.Name]; done != c.done {
			t.Errorf("%s: done %v, want %v", c.what, done, c.done)
		}
	}
	later, worse := good, good
	later.Started, worse.Started, worse.Bad = day(7), day(8), 2
	if got := Done([]Exercise{e}, []record.Tally{later, good, worse})[e.Name].Time; !got.Equal(day(5)) {
		t.Errorf("done on %v, want the first day that it passed", got)
	}
}
