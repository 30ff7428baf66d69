package results

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"triad/internal/need"
	"triad/internal/op"
	"triad/internal/record"
)

// contents returns everything in a database, except the numbers of its rows, which are its own.
func contents(t *testing.T, path string) string {
	t.Helper()
	s := openTest(t, path, Options{})
	defer s.Close()
	records, _, err := s.List(ctx, Filter{Limit: -1})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(records, func(a, b record.Record) int { return strings.Compare(a.ID, b.ID) })
	var text strings.Builder
	for _, r := range records {
		run, err := s.Show(ctx, r.ID)
		if err != nil {
			t.Fatal(err)
		}
		line, err := run.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text, "%s\n", line)
	}
	sessions, err := s.Sessions(ctx, "", -1)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(
		sessions,
		func(a, b record.SessionCount) int { return strings.Compare(a.Session.ID, b.Session.ID) },
	)
	for _, c := range sessions {
		ceilings, err := s.Ceilings(ctx, c.Session.ID)
		if err != nil {
			t.Fatal(err)
		}
		comparisons, err := s.Comparisons(ctx, c.Session.ID)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text, "%+v %d %d\n", c, len(ceilings), len(comparisons))
	}
	fmt.Fprintf(&text, "%d planned\n", count(t, s, "SELECT count(*) FROM plan"))
	return text.String()
}

// shard makes a database with one session of a few runs and a difference between two of them.
func shard(t *testing.T, path, commit string, from int) {
	t.Helper()
	s := openTest(t, path, Options{})
	defer s.Close()
	a, b := passed(from, "cuda/warp"), passed(from, "cuda/naive")
	wrong := failed(from + 1)
	id := recordSession(t, s, commit, "NVIDIA H200", a, b, &wrong)
	x, _, err := s.Resume(ctx, "nothing")
	if x != nil || !errors.Is(err, ErrNothingToResume) {
		t.Fatal(err)
	}
	d := record.Difference{
		Session: id, CaseKey: a.Case.Key(), Op: a.Case.Op, Pass: op.Forward, DType: "bf16", Output: "y",
		A: b.Impl, B: a.Impl, RunA: b.ID, RunB: a.ID, N: 8000, Bitwise: true,
	}
	owner := &Session{store: s, id: 1}
	if err := owner.AddDifferences(ctx, []record.Difference{d}); err != nil {
		t.Fatal(err)
	}
}

// merged returns a new database with others merged into it in this order.
func merged(t *testing.T, others ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "all.db")
	s := openTest(t, path, Options{})
	defer s.Close()
	for _, other := range others {
		if _, err := s.Merge(ctx, other); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// Merging in any order, any number of times, and via others gives the same result, with nothing lost or
// doubled.
func TestMergeIsAUnion(t *testing.T) {
	folder := t.TempDir()
	var parts []string
	for i := range 3 {
		path := filepath.Join(folder, fmt.Sprintf("%d.db", i))
		shard(t, path, fmt.Sprintf("%07d", i), 10*i)
		parts = append(parts, path)
	}
	want := contents(t, merged(t, parts...))
	if n := strings.Count(want, `"run":{`); n != 9 {
		t.Errorf("%d runs in the union of three parts of three", n)
	}
	half := merged(t, parts[2], parts[1])
	for name, path := range map[string]string{
		"another order": merged(t, parts[2], parts[0], parts[1]),
		"twice":         merged(t, parts[0], parts[1], parts[0], parts[2], parts[1]),
		"by a union":    merged(t, half, parts[0], half),
	} {
		if got := contents(t, path); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
	s := openTest(t, half, Options{})
	m, err := s.Merge(ctx, parts[0])
	if err != nil || m != (Merged{Sessions: 1, Runs: 3}) {
		t.Errorf("a new part: %+v, %v", m, err)
	}
	if m, err = s.Merge(ctx, parts[0]); err != nil || m != (Merged{SessionsThere: 1, RunsThere: 3}) {
		t.Errorf("the same again: %+v, %v", m, err)
	}
}

// A session that continues after it was merged is complete after the next merge.
func TestMergeOfASessionThatGoesOn(t *testing.T) {
	other := filepath.Join(t.TempDir(), "other.db")
	s := openTest(t, other, Options{})
	x := start(t, s, "a request")
	first, second := failed(1), failed(2)
	if err := x.Record(ctx, &first); err != nil {
		t.Fatal(err)
	}
	path := merged(t, other)
	if got := contents(t, path); strings.Count(got, `"run":{`) != 1 ||
		!strings.Contains(got, "State:interrupted") {
		t.Errorf("while it runs: %s", got)
	}
	if err := errors.Join(x.Record(ctx, &second), x.Finish(ctx, true, 1)); err != nil {
		t.Fatal(err)
	}
	all := openTest(t, path, Options{})
	if m, err := all.Merge(ctx, other); err != nil || m.Runs != 1 || m.RunsThere != 1 {
		t.Errorf("after its end: %+v, %v", m, err)
	}
	all.Close()
	if got := contents(t, path); strings.Count(got, `"run":{`) != 2 ||
		!strings.Contains(got, "State:complete") {
		t.Errorf("after its end: %s", got)
	}
}

// A file that cannot be merged is refused with a sentence, and both files are unchanged.
func TestMergeRefuses(t *testing.T) {
	folder := t.TempDir()
	part := filepath.Join(folder, "part.db")
	shard(t, part, "aaaaaaa", 1)
	into := merged(t, part)
	before := contents(t, into)
	s := openTest(t, into, Options{})
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	altered := func(name, statement string) string {
		path := filepath.Join(folder, name)
		whole, err := os.ReadFile(part)
		if err != nil {
			t.Fatal(err)
		}
		write(name, string(whole))
		x := openTest(t, path, Options{})
		if _, err := x.writer.Exec(statement); err != nil {
			t.Fatal(err)
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, c := range map[string]struct {
		path string
		want error
	}{
		"itself":          {into, ErrForeign},
		"no file":         {filepath.Join(folder, "none.db"), os.ErrNotExist},
		"a folder":        {folder, ErrForeign},
		"text":            {write("text.db", strings.Repeat("This is no database.\n", 400)), ErrForeign},
		"a newer program": {altered("newer.db", "PRAGMA user_version = 99"), ErrNewer},
		"another program": {altered("foreign.db", "PRAGMA application_id = 7"), ErrForeign},
		"a view":          {altered("view.db", "DROP VIEW speed; CREATE VIEW speed AS SELECT 1"), ErrForeign},
	} {
		if _, err := s.Merge(ctx, c.path); !errors.Is(err, c.want) ||
			strings.Contains(err.Error(), "into in") {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	s.Close()
	if after := contents(t, into); after != before {
		t.Errorf("a refused merge changed the database:\n%s\nbefore\n%s", after, before)
	}
	reader := openTest(t, into, Options{ReadOnly: true})
	if _, err := reader.Merge(ctx, part); !errors.Is(err, ErrReadOnly) {
		t.Errorf("into a database that was opened for reading: %v", err)
	}
}

// Whatever is damaged in the other file, a merge adds all of it or refuses: it never ends triad, and both
// files are unchanged.
func TestMergeOfDamagedFiles(t *testing.T) {
	folder := t.TempDir()
	part := filepath.Join(folder, "part.db")
	shard(t, part, "aaaaaaa", 1)
	whole, err := os.ReadFile(part)
	if err != nil {
		t.Fatal(err)
	}
	files := 100
	if need.IsLongTier() {
		files = 500
	}
	random := rand.New(rand.NewPCG(1, 2))
	into := filepath.Join(folder, "into.db")
	s := openTest(t, into, Options{})
	refused := 0
	for i := range files {
		damaged := slices.Clone(whole)
		switch i % 3 {
		case 0: // cut off
			damaged = damaged[:random.IntN(len(damaged))]
		case 1: // a few bits
			for range 1 + random.IntN(8) {
				damaged[random.IntN(len(damaged))] ^= 1 << random.IntN(8)
			}
		default: // a page
			page := random.IntN(len(damaged)/4096) * 4096
			for j := range 4096 {
				damaged[page+j] = byte(random.Uint32())
			}
		}
		path := filepath.Join(folder, "damaged.db")
		for _, beside := range []string{"", "-wal", "-shm", livenessSuffix} {
			os.Remove(path + beside)
		}
		if err := os.WriteFile(path, damaged, 0o444); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Merge(context.Background(), path); err != nil {
			refused++
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != string(damaged) {
			t.Fatalf("file %d was changed (%v)", i, err)
		}
	}
	if refused < files/2 {
		t.Errorf("%d of %d damaged files were refused", refused, files)
	}
	if err := check(ctx, s.reader, into); err != nil {
		t.Error(err)
	}
	s.Close()
	if runs := strings.Count(contents(t, into), `"run":{`); runs > 3*files {
		t.Errorf("%d runs", runs)
	}
}

// Parts of one session, each with positions of its own and one run in both, merged into a session that is
// running: each entry of the plan once, each run once, in any order, with the machine of the part that came.
func TestMergePartsOfASession(t *testing.T) {
	folder := t.TempDir()
	ofFleet := record.Session{
		ID: "01M83TKPCKQXYG5ZNHCC6YF87Q", Request: "fleet", Version: "1", Level: "quick",
		Machine: record.Machine{OS: "linux"}, Toolchain: record.Toolchain{},
	}
	part := func(name string, from int) string {
		path := filepath.Join(folder, name)
		s := openTest(t, path, Options{})
		defer s.Close()
		info := ofFleet
		info.Machine.GPU = "NVIDIA H200"
		x, err := s.Start(ctx, info, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			r := passed(from+i, "cuda/warp")
			if err := x.Record(ctx, r); err != nil {
				t.Fatal(err)
			}
		}
		if err := x.Finish(ctx, true, 0); err != nil {
			t.Fatal(err)
		}
		return path
	}
	one, two := part("one.db", 1), part("two.db", 3) // 3 is in both: a shard that ran twice
	for _, order := range [][]string{{one, two}, {two, one, two}, {one, one, two, one}} {
		s := openTest(t, filepath.Join(t.TempDir(), "all.db"), Options{})
		x, err := s.Start(ctx, ofFleet, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, from := range order {
			if _, err := s.Merge(ctx, from); err != nil {
				t.Fatal(err)
			}
		}
		if err := x.Finish(ctx, true, 0); err != nil {
			t.Fatal(err)
		}
		records, total, err := s.List(ctx, Filter{Session: x.ID(), Limit: -1})
		if err != nil || total != 5 || len(records) != 5 {
			t.Errorf("%v: %d runs, %v, want 5", order, total, err)
		}
		sessions, err := s.Sessions(ctx, "", -1)
		if err != nil || len(sessions) != 1 || sessions[0].Session.Machine.GPU != "NVIDIA H200" {
			t.Errorf("%v: %+v, %v, want one session on an H200", order, sessions, err)
		}
		var entries int
		if err := s.reader.QueryRow("SELECT count(*) FROM plan").Scan(&entries); err != nil || entries != 5 {
			t.Errorf("%v: %d entries of the plan, %v, want 5", order, entries, err)
		}
		s.Close()
	}
}
