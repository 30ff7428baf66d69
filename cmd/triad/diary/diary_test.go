package diary

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"triad/internal/diary"
	"triad/internal/need"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/report"
	"triad/internal/session"
	"triad/results"
)

// on returns a time on a day of November 2026.
func on(day, hour int) time.Time { return time.Date(2026, 11, day, hour, 0, 0, 0, time.UTC) }

// month is a folder in which someone worked for thirty days, and the database of those days.
type month struct {
	t      *testing.T
	folder string
	db     string
	store  *results.Store
	now    time.Time

	history bytes.Buffer // commits, as git fast-import reads them
}

// newMonth makes an empty folder and database.
func newMonth(t *testing.T) *month {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := &month{t: t, folder: folder, db: filepath.Join(t.TempDir(), "results.db")}
	m.store, err = results.Open(t.Context(), m.db, results.Options{Now: func() time.Time { return m.now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.store.Close() })
	return m
}

// write writes a file.
func (m *month) write(name, text string) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.folder, name), []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

// commit adds a commit with a file of so many lines to the history that imported makes.
func (m *month) commit(when time.Time, file, subject string, lines int) {
	text := strings.Repeat("// "+subject+"\n", lines)
	fmt.Fprintf(&m.history, "commit refs/heads/main\ncommitter a <a@b> %d +0000\ndata %d\n%s\n", when.Unix(),
		len(subject), subject)
	fmt.Fprintf(&m.history, "M 100644 inline %s\ndata %d\n%s\n", file, len(text), text)
}

// imported makes a repository of the folder, with the commits so far.
func (m *month) imported() {
	m.t.Helper()
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"fast-import", "--quiet"}} {
		cmd := exec.Command("git", append([]string{"-C", m.folder}, args...)...)
		cmd.Stdin = &m.history
		if args[0] == "init" {
			cmd.Stdin = nil
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			m.t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
}

// judged describes one case of a file in a session.
type judged struct {
	file, operator, source string
	pass                   op.Pass
	status                 op.Status
	medianNS               float64
}

// judge records a session about a file, by its path.
func (m *month) judge(when time.Time, j judged) {
	m.t.Helper()
	m.now = when
	ctx := m.t.Context()
	c := op.Case{
		Op: j.operator, Pass: j.pass, DType: "fp32", Dims: op.Dims{{Name: "n", Value: 4096}},
		Layout: "contiguous", Distribution: "normal",
	}
	r := &record.Record{
		Case: c, Impl: "mine/" + filepath.Base(j.file), Backend: "mine", Variant: filepath.Base(j.file),
		Device: "emulator", Source: j.source, Status: j.status, Started: when,
	}
	if j.medianNS > 0 {
		r.Device = "gpu"
	}
	s, err := m.store.Start(ctx, record.Session{
		Request: "{}", Command: []string{"compare", j.operator}, Version: "1", Level: "quick",
		Added: []string{j.file, "--block=256"},
	}, []record.Item{{Case: c, Impl: r.Impl}})
	if err != nil {
		m.t.Fatal(err)
	}
	if err := s.Record(ctx, r); err != nil {
		m.t.Fatal(err)
	}
	if j.medianNS > 0 {
		err := s.AddTiming(ctx, r.ID, record.Timing{
			Regime: "warm", Status: op.StatusPass, Mode: "graph", N: 1, MedianNS: j.medianNS,
			SamplesNS: []float64{j.medianNS},
		})
		if err != nil {
			m.t.Fatal(err)
		}
	}
	if err := s.Finish(ctx, true, 0); err != nil {
		m.t.Fatal(err)
	}
}

// thirtyDays fills the month.
func (m *month) thirtyDays() {
	m.t.Helper()
	in := func(name string) string { return filepath.Join(m.folder, name) }
	for day := 1; day <= 30; day++ {
		file := fmt.Sprintf("day%02d.cu", day)
		switch {
		case day >= 10 && day <= 12: // nothing
		case day == 4: // committed, never judged
			m.commit(on(day, 9), file, "a first try", 7)
		case day == 14: // judged, never committed
			m.judge(on(day, 9), judged{in(file), "sum", "a", op.Forward, op.StatusPass, 0})
		default:
			m.commit(on(day, 9), file, fmt.Sprintf("kernel %d", day), day)
			m.judge(on(day, 10), judged{in(file), "add", "a", op.Forward, op.StatusPass, 0})
		}
	}
	m.judge(on(5, 9), judged{in("day05.cu"), "add", "0", op.Forward, op.StatusFail, 0}) // before it passed
	m.judge(on(7, 12), judged{in("day07.cu"), "add", "a", op.Backward, op.StatusFail, 0})
	m.judge(on(20, 12), judged{in("day20.cu"), "add", "a", op.Forward, op.StatusPass, 65_700})
	m.judge(on(21, 11), judged{in("add_naive.cu"), "add", "a", op.Forward, op.StatusPass, 0})
	m.judge(on(22, 11), judged{"/elsewhere/x.cu", "add", "a", op.Forward, op.StatusPass, 0})
	m.commit(on(30, 20), "notes.md", "words", 3)
	m.commit(on(30, 21), "day03.cu", "use | and `shuffles`", 5)
	m.imported()
}

// diaryOf runs the verb on the last day of the month.
func (m *month) diaryOf(args ...string) (string, session.ExitCode, error) {
	m.t.Helper()
	var out bytes.Buffer
	cmd := New(Environment{
		Out: &out, Style: func() report.Style { return report.Style{} },
		Open: func(ctx context.Context, _ string) (*results.Store, error) {
			store, err := results.Open(ctx, m.db, results.Options{ReadOnly: true})
			if err != nil {
				err = session.ReadFailure(err, false)
			}
			return store, err
		},
		Now: func() time.Time { return on(30, 22) },
	})
	cmd.SetArgs(append([]string{m.folder}, args...))
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	err := cmd.Execute()
	return out.String(), session.CodeOf(err), err
}

// Thirty days of a repository: as text, as JSON and in a page.
func TestThirtyDays(t *testing.T) {
	need.Tool(t, "git")
	m := newMonth(t)
	m.thirtyDays()
	for name, test := range map[string]func(*testing.T, *month){
		"text": textOfThirtyDays, "JSON": thirtyDaysInJSON, "page": pageOfThirtyDays,
	} {
		t.Run(name, func(t *testing.T) { test(t, m) })
	}
}

// Verdicts, gradients, times, what changed, and the days without a run.
func textOfThirtyDays(t *testing.T, m *month) {
	text, _, err := m.diaryOf()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`2026-11-01  day01.cu      add +PASS +- +not timed \(emulator\) +kernel 1 \(\+1 -0\)`,
		`2026-11-04  day04.cu +not judged +not judged +- +a first try \(\+7 -0\)`,
		`2026-11-05  day05.cu      add +PASS .*forward was FAIL, is PASS; 2 versions judged; kernel 5`,
		`2026-11-07  day07.cu      add +PASS +FAIL \(1 of 1 wrong\) `,
		`2026-11-10  no run\n2026-11-11  no run\n2026-11-12  no run\n`,
		`2026-11-14  day14.cu      sum +PASS +- +not timed \(emulator\)\n`,
		`2026-11-20  day20.cu      add +PASS +- +65.70 us, n=4096 fp32 +kernel 20`,
		`2026-11-21  add_naive.cu  add, exercise add/naive +PASS`,
		"2026-11-30  day03.cu +not judged .*use \\| and `shuffles` \\(\\+5 -3\\)",
		`\nDays: 30, with a run 26; most in a row 18, now 18\. From the database and the folder's git ` +
			`history\. Files of other folders, left out: 1\.\n$`,
	} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("want %s in\n%s", want, text)
		}
	}
	if strings.Contains(text, "notes.md") || strings.Contains(text, "elsewhere") {
		t.Errorf("a page or a file of another folder is in\n%s", text)
	}
}

// JSON has every day, an empty list for one without a run.
func thirtyDaysInJSON(t *testing.T, m *month) {
	text, _, err := m.diaryOf("--json")
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if err != nil || len(lines) != 30 || lines[10] != `{"date":"2026-11-11","files":[]}` {
		t.Fatalf("%v, %d lines, the 11th %s", err, len(lines), lines[min(10, len(lines)-1)])
	}
	var day diary.Day
	if err := json.Unmarshal([]byte(lines[19]), &day); err != nil || day.Files[0].MedianNS != 65_700 ||
		day.Files[0].Timed != "n=4096 fp32" {
		t.Errorf("%v, day 20 is %s", err, lines[19])
	}
}

// The diary goes between its two marks, and the rest of the page stays; without the marks nothing is written.
func pageOfThirtyDays(t *testing.T, m *month) {
	page := filepath.Join(m.folder, "README.md")
	for _, without := range []string{
		"# Mine\n", diary.End + "\n" + diary.Begin + "\n",
		diary.Begin + "\n" + diary.Begin + "\n" + diary.End + "\n",
	} {
		m.write("README.md", without)
		_, code, err := m.diaryOf("--write", page)
		got, _ := os.ReadFile(page)
		if code != session.ExitUsage || string(got) != without ||
			!strings.Contains(err.Error(), diary.Begin) {
			t.Errorf("a page %q: exit %d, %v, the page is now %q", without, code, err, got)
		}
	}
	head, tail := "# Mine\r\n"+diary.Begin+"\r\n", diary.End+"\r\nThe end"
	m.write("README.md", head+"old\r\n"+tail)
	if err := os.Chmod(page, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, _, err := m.diaryOf("--write", page); err != nil {
		t.Fatal(err)
	}
	first, _ := os.ReadFile(page)
	info, err := os.Stat(page)
	text := string(first)
	if err != nil || info.Mode().Perm() != 0o640 || !strings.HasPrefix(text, head) ||
		!strings.HasSuffix(text, tail) || strings.Contains(text, "old") ||
		!strings.Contains(text, "| 2026-11-11 | no run |  |  |  |  |  |\r\n") ||
		!strings.Contains(text, "use \\| and \\`shuffles\\` (+5 -3)") {
		t.Errorf("%v, %v\n%s", err, info.Mode(), text)
	}
	said, _, err := m.diaryOf("--write", page)
	again, _ := os.ReadFile(page)
	if err != nil || !bytes.Equal(first, again) || !strings.Contains(said, "up to date") {
		t.Errorf("written again: %v, %s", err, said)
	}
	if _, code, _ := m.diaryOf("--write", page, "--json"); code != session.ExitUsage {
		t.Errorf("--write with --json: exit %d", code)
	}
}

// Without git the database alone is used, and without a database git alone.
func TestOneSource(t *testing.T) {
	m := newMonth(t)
	m.judge(on(28, 9), judged{filepath.Join(m.folder, "a.cu"), "add", "a", op.Forward, op.StatusPass, 0})
	text, _, err := m.diaryOf()
	if err != nil || !strings.Contains(text, "2026-11-28  a.cu") ||
		!strings.Contains(text, "2026-11-29  no run") ||
		!strings.Contains(text, "From the database alone: the folder is in no git repository") {
		t.Errorf("%v\n%s", err, text)
	}
	need.Tool(t, "git")
	m = newMonth(t)
	m.db = filepath.Join(m.folder, "none.db")
	m.commit(on(2, 9), "a.cu", "first", 2)
	m.imported()
	text, _, err = m.diaryOf()
	if err != nil || !strings.Contains(text, "not judged") ||
		!strings.Contains(text, "2026-11-03 to 2026-11-30  no run on 28 days") {
		t.Errorf("%v\n%s", err, text)
	}
	if _, code, err := m.diaryOf("another"); code != session.ExitUsage {
		t.Errorf("two folders: exit %d, %v", code, err)
	}
}
