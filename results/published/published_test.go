package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// here reads the published data, and returns a reader of pages of the sources.
func here(t *testing.T) (published, func(page string) string) {
	t.Helper()
	root, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	p, err := readAll(root)
	if err != nil {
		t.Fatal(err)
	}
	return p, func(page string) string {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
}

// Every table of the documents agrees with the published JSON, and every table has its place.
func TestTablesAreThoseOfTheJSON(t *testing.T) {
	p, page := here(t)
	all := tables(p)
	placed := map[string]bool{}
	for _, name := range pages {
		text := page(name)
		filled, err := fill(text, all)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if filled != text {
			t.Errorf("%s is not what results/published/h200 gives: go run ./results/published", name)
		}
		for _, m := range place.FindAllStringSubmatch(text, -1) {
			placed[m[1]] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !placed[name] {
			t.Errorf("the table %q stands nowhere", name)
		}
	}
}

// measured matches a time, a rate or a clock.
var measured = regexp.MustCompile(`\d[\d.,]*\s?(ns|us|ms|TB/s|GB/s|TFLOP/s|MHz)\b`)

// settings are numbers with a unit that were chosen and not measured.
var settings = []string{"at least 0.5 ms", "2 ms, each after"}

// No GPU time is written by hand: neither outside the tables of docs/performance.md nor in the README.
func TestNoTimeOfAGPUByHand(t *testing.T) {
	_, page := here(t)
	text := page("docs/performance.md")
	_, text, there := strings.Cut(text, "\n## On a GPU\n")
	if !there {
		t.Fatal("docs/performance.md has no section of the GPU")
	}
	text, _, _ = strings.Cut(text, "\n## ")
	for name, text := range map[string]string{
		"docs/performance.md": place.ReplaceAllString(text, ""),
		"README.md":           page("README.md"),
	} {
		for _, s := range settings {
			text = strings.ReplaceAll(text, s, "")
		}
		if found := measured.FindAllString(text, -1); len(found) > 0 {
			t.Errorf("%s has figures that no JSON gives: %v", name, found)
		}
	}
}

// The published sessions keep their promises: each command that timed has ceilings of its own and an
// implementation compared with itself for each case and regime, no ratio beyond a tenth lacks a word, and row
// operators are compared element by element, or by a sample of millions where they have more than 2^24.
func TestPublishedSessionsAreWhole(t *testing.T) {
	p, _ := here(t)
	sessions := map[string]session{}
	for _, s := range p.sessions {
		sessions[s.ID] = s
	}
	for _, problem := range problems(p.records, sessions) {
		t.Error(problem)
	}
}

// problems lists what is wrong with sessions. Records from before sessions were published are left out.
func problems(records []record, sessions map[string]session) []string {
	var all []string
	say := func(words ...string) {
		if text := strings.Join(words, " "); !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	of := map[string]record{}
	for _, r := range records {
		of[r.ID] = r
	}
	noise := map[string]bool{}
	for _, s := range sessions {
		for _, c := range s.Comparisons {
			if c.RunA == c.RunB {
				noise[s.ID+of[c.RunA].Case+c.Regime] = true
			} else if c.beyond() && c.SpeedVerdict == "AMBIGUOUS" {
				say(s.ID, c.A, "beside", c.B, ratioWords(c), "is AMBIGUOUS")
			}
		}
	}
	for _, r := range records {
		s, known := sessions[r.Session]
		if !known {
			continue
		}
		for _, t := range r.times() {
			switch {
			case t.Status == "PASS" && len(s.Ceilings) == 0:
				say(s.ID, "has no ceilings")
			case t.Status == "PASS" && !noise[s.ID+r.Case+t.Regime]:
				say(s.ID, r.Op, r.Pass, shape(r), t.Regime, "has no implementation beside itself")
			}
			if slices.Contains(rowOperators, r.Op) && !comparedEnough(r.Outputs) {
				say(s.ID, r.Op, r.Pass, shape(r), r.Impl, "was not compared enough")
			}
		}
	}
	return all
}

// comparedEnough reports whether every element was compared, or millions where an output has more than 2^24.
func comparedEnough(outputs []output) bool {
	large, compared, whole := false, int64(0), true
	for _, o := range outputs {
		if o.Status == "MISSING" {
			continue
		}
		large = large || o.N > 1<<24
		whole = whole && o.Compared >= o.N
		compared += o.Compared
	}
	return whole || large && compared >= 3.5e6
}

// made returns a record of softmax with one timing.
func made(id, session, impl string, ns, clock float64, regime string) record {
	r := record{
		ID: id, Session: session, Op: "softmax", Pass: "backward", DType: "bf16",
		Dims: map[string]int64{"rows": 8, "cols": 4}, Case: "c", Impl: impl, Status: "PASS",
		Started: "2026-01-0" + session, Timing: &timing{
			Regime: regime, Status: "PASS", MedianNS: ns,
			ClockMHz: &clock, Backward: new("saved tensors"),
		},
	}
	r.Outputs = []output{{"PASS", 32, 32}, {"MISSING", 8, 0}}
	return r
}

// Every cold time is shown: in a column of its family, or by its name in the last one.
func TestEveryTimedRowIsShown(t *testing.T) {
	p, _ := here(t)
	made := tables(p)
	var lines []string
	for _, name := range []string{"rows", "attention", "products", "gemm", "catalogue"} {
		lines = append(lines, made[name]...)
	}
	shown := 0
	for _, g := range groups(p.records) {
		if g.regime != "cold" || g.op == "gemm" && g.dtype == "fp32" { // the ladder is a table of its own
			continue
		}
		at := slices.IndexFunc(lines,
			func(line string) bool { return strings.HasPrefix(line, "| "+g.title()+" |") })
		if at < 0 {
			t.Errorf("%s stands in no table", g.title())
			continue
		}
		for _, r := range g.rows {
			if text := g.text(r, r); !strings.Contains(lines[at], " "+strings.TrimRight(text, "*")) {
				t.Errorf("%s: %s of %s is not in %q", g.title(), text, r.impl, lines[at])
			}
			shown++
		}
	}
	if shown < 500 {
		t.Errorf("only %d times", shown)
	}
	g := group{rows: []row{
		{impl: "cuda/vec", timing: timing{MedianNS: 1000}},
		{impl: "cuda/naive", timing: timing{MedianNS: 3000}},
		{impl: "torch/grouped_mm", timing: timing{MedianNS: 2000, Mode: "events"}},
	}}
	want := "torch/grouped_mm 2.000 us*, cuda/naive 3.000 us"
	if got := g.rest(rowTable, g.rows[0]); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A comparison of a record that is no longer published does not count.
func TestComparisonsAreOfWhatIsPublished(t *testing.T) {
	p := published{
		records: []record{
			made("1", "1", "cuda/vec", 1, 1, "cold"), made("2", "1", "triton/row", 1, 1, "cold"),
		},
		sessions: []session{{ID: "1", Comparisons: []comparison{
			{RunA: "2", RunB: "1"}, {RunA: "1", RunB: "1"}, {RunA: "3", RunB: "1"}, {RunA: "1", RunB: "3"},
		}}},
	}
	p.keepComparisons()
	if got := len(p.sessions[0].Comparisons); got != 2 {
		t.Errorf("%d comparisons are kept, want the two of published records", got)
	}
}

// A row compares what one command timed; another clock, and a forward within the call, are noted next to the
// time. Loads have a table of their own.
func TestRowsAreOfOneCommand(t *testing.T) {
	records := []record{
		made("1", "1", "cuda/vec", 1000, 1980, "cold"), made("2", "1", "triton/row", 1100, 1605, "cold"),
		made("3", "1", "torch/eager", 9000, 1970, "cold"),
		made("4", "2", "cuda/vec", 500, 1980, "cold"), made("5", "2", "cuda/vec", 700, 1500,
			"cold sustained"),
	}
	records[2].Timing.Mode = "events"
	all := groups(records)
	got := strings.Join(timesTable(cold(all, "softmax"), rowTable, share{title: "share", of: roofline}), "\n")
	want := "| softmax backward 8 x 4 | 1.000 us | 1.100 us at 1605 MHz | 9.000 us* |  | 1980 |  |\n\n" +
		"* timed between events, the host's time included, where no graph could capture the calls."
	if !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// now both commands have one implementation: the later one counts
	records[3].Timing.MedianNS, records[1], records[2] = 600, record{}, record{}
	if got := strings.Join(timesTable(cold(groups(records), "softmax"), rowTable,
		share{title: "share", of: roofline}), "\n"); !strings.Contains(got, "| 0.6000 us |") {
		t.Errorf("the later command is not there:\n%s", got)
	}
	s := published{sessions: []session{{ID: "2"}}}
	if got := strings.Join(underLoad(all, s), "\n"); !strings.Contains(got,
		"| cold sustained | cuda/vec | 0.7000 us | 1 |  | 1500 MHz |") || strings.Contains(got, "0.5000") {
		t.Errorf("under load:\n%s", got)
	}
}

// A backward that was timed with its forward has a row of its own, next to the others' sums of a forward and
// a backward of the same command.
func TestPairStandsBesideSums(t *testing.T) {
	one := func(pass, impl string, ns float64, from *string) record {
		r := made(pass+impl, "1", impl, ns, 1900, "cold")
		r.Op, r.Pass, r.Case, r.Timing.Backward = "flash_attention", pass, pass, from
		return r
	}
	all := groups([]record{
		one("forward", "cuda/sm90_wgmma", 1000, new("")), one("backward", "cuda/sm90_wgmma", 3000,
			new("saved tensors")),
		one("backward", "torch/cudnn", 2000, new(pair)), one("backward", "fa4/forward", 1500,
			new("retained graph")), one("backward", "torch/flash", 7000, nil),
	})
	got := strings.Join(timesTable(cold(all, "flash_attention"), attention,
		share{title: "share", of: ofVendor}), "\n")
	for _, want := range []string{
		"| attention forward 0 x 0 heads, 0 x 0, 0 | 1.000 us |  |  |  |  | 1900 |",
		"| attention backward 0 x 0 heads, 0 x 0, 0 | 3.000 us |  |  | 1.500 us |  | 1900 |",
		"| attention forward+backward 0 x 0 heads, 0 x 0, 0 | 4.000 us | 2.000 us | 7.000 us |  | 50 % | " +
			"1900 |",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %q:\n%s", want, got)
		}
	}
}

func TestProblemsAreFound(t *testing.T) {
	r := made("1", "1", "cuda/vec", 1000, 1980, "cold")
	whole := session{ID: "1", Comparisons: []comparison{
		{RunA: "1", RunB: "1", Regime: "cold", Low: 0.99, High: 1.01, SpeedVerdict: "SAME"},
		{RunA: "2", RunB: "1", Regime: "cold", Ratio: 1.46, Low: 1.45, High: 1.46, SpeedVerdict: "SLOWER"},
	}}
	if err := json.Unmarshal([]byte(`[{"name":"copy","bytes_per_second":4e12}]`),
		&whole.Ceilings); err != nil {
		t.Fatal(err)
	}
	if got := problems([]record{r}, map[string]session{"1": whole}); len(got) > 0 {
		t.Errorf("a whole session: %v", got)
	}
	sampled := r
	sampled.Outputs = slices.Clone(r.Outputs)
	sampled.Outputs[0].Compared = 3
	bare := whole
	bare.Ceilings = nil
	lonely := whole
	lonely.Comparisons = lonely.Comparisons[1:]
	wordless := whole
	wordless.Comparisons = append(slices.Clone(whole.Comparisons), comparison{
		RunA: "3", RunB: "1", A: "x",
		Low: 1.2, High: 1.3, SpeedVerdict: "AMBIGUOUS",
	})
	large := r
	large.Outputs = []output{{"PASS", 1 << 25, 3e6}}
	enough := r
	enough.Outputs = []output{{"PASS", 1 << 25, 4e6}, {"PASS", 1 << 10, 100}}
	if got := problems([]record{enough}, map[string]session{"1": whole}); len(got) != 0 {
		t.Errorf("a sample of millions: %v", got)
	}
	for want, c := range map[string]struct {
		r record
		s session
	}{
		"was not compared":    {large, whole},
		"not compared enough": {sampled, whole}, "no ceilings": {r, bare}, "beside itself": {r, lonely},
		"is AMBIGUOUS": {r, wordless},
	} {
		if got := problems([]record{c.r}, map[string]session{"1": c.s}); len(got) != 1 ||
			!strings.Contains(got[0], want) {
			t.Errorf("%q: %v", want, got)
		}
	}
}

// Data taken from a machine names none of its folders, and lists a library's kernels once.
func TestTake(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "h200")
	line := `{"op":"softmax","backend":"cuda","source":"s",` +
		`"build":{"flags":["-L/root/x/lib","cuda/opt.h"],"cached":true,"kernels":[{"kernel":"_Z1k"}]},` +
		`"message":"in /tmp/a/b: 3"}` + "\n"
	for name, text := range map[string]string{
		"softmax.jsonl":          line + line,
		"softmax.sessions.jsonl": "{\"id\":\"1\"}\n", "figure-x.json": "[1]\n", "softmax.jsonl.part": "half",
		"softmax.txt": "log",
	} {
		if err := os.WriteFile(filepath.Join(from, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := take(from, to); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(to, "softmax.jsonl"))
	want := `{"op":"softmax","backend":"cuda","source":"s",` +
		`"build":{"flags":["-L$FOLDER","cuda/opt.h"],"cached":true,"kernels":[{"kernel":"_Z1k"}]},` +
		`"message":"in $FOLDER: 3"}` + "\n"
	if want += strings.Replace(want, `,"kernels":[{"kernel":"_Z1k"}]`, "", 1); err != nil ||
		string(text) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, text, want)
	}
	entries, err := os.ReadDir(to)
	if err != nil || len(entries) != 3 {
		t.Errorf("%v, %d files: want the exports and the figure", err, len(entries))
	}
	if err := take(t.TempDir(), to); err == nil {
		t.Error("a folder without exports was taken")
	}
}

// Of a step only the passes of operators that were recorded again are replaced, with their sessions.
func TestTakeOfOnePass(t *testing.T) {
	to := filepath.Join(t.TempDir(), "h200")
	for _, folder := range []map[string]string{
		{
			"catalogue.jsonl": `{"op":"a","session":"1","n":1}` + "\n" +
				`{"op":"b","session":"2","n":1}` + "\n" +
				`{"op":"b","pass":"backward","session":"2","n":1}` + "\n",
			"catalogue.sessions.jsonl": `{"id":"1"}` + "\n" + `{"id":"2"}` + "\n",
		},
		{
			"catalogue.jsonl": `{"op":"a","session":"3","n":2}` + "\n" +
				`{"op":"b","session":"4","n":2}` + "\n",
			"catalogue.sessions.jsonl": `{"id":"3"}` + "\n" + `{"id":"4"}` + "\n",
		},
	} {
		from := t.TempDir()
		for name, text := range folder {
			if err := os.WriteFile(filepath.Join(from, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := take(from, to); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"catalogue.jsonl": `{"op":"b","pass":"backward","session":"2","n":1}` + "\n" +
			`{"op":"a","session":"3","n":2}` + "\n" + `{"op":"b","session":"4","n":2}` + "\n",
		"catalogue.sessions.jsonl": `{"id":"2"}` + "\n" + `{"id":"3"}` + "\n" + `{"id":"4"}` + "\n",
	} {
		if text, err := os.ReadFile(filepath.Join(to, name)); err != nil || string(text) != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, text, want)
		}
	}
}

// The ladder has a row for each rung of gemm in fp32, slowest first, and both layouts of b next to each
// other.
func TestLadder(t *testing.T) {
	rung := func(impl, layout string, ns float64) record {
		r := made(impl+layout, "1", impl, ns, 1980, "cold")
		r.Op, r.Pass, r.DType, r.Attributes = "gemm", "forward", "fp32", map[string]string{"layout_b": layout}
		r.Timing.FLOPs, r.Timing.Roofline = 4e6, new(1000/ns)
		return r
	}
	other := rung("cuda/cublas", "kn", 900)
	other.DType = "bf16"
	got := strings.Join(ladder([]record{
		rung("cuda/tiled", "kn", 2000), rung("cuda/naive", "nk", 8000), rung("cuda/naive", "kn", 4000), other,
	})[2:], "\n")
	want := "| cuda/naive | 4.000 us | 1.00 TFLOP/s | 25.0 % | 8.000 us | 0.50 TFLOP/s | 12.5 % |\n" +
		"| cuda/tiled | 2.000 us | 2.00 TFLOP/s | 50.0 % | | | |"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := ladder([]record{other}); len(got) != 1 {
		t.Errorf("nothing recorded: %q", got)
	}
}

// A library that is called from a CUDA row is none of our kernels.
func TestBestOfOurOwn(t *testing.T) {
	for impl, is := range map[string]bool{
		"cuda/vec": true, "cuda/cublas": false, "cuda/cublaslt": false,
		"cuda/cub": false,
	} {
		if cuda.has(impl) != is {
			t.Errorf("%s: %t", impl, !is)
		}
	}
}

// An operator's standing covers its points in one pass, and leaves out rows under another contract.
func TestStandings(t *testing.T) {
	point := func(id, impl string, ns float64, cols int64, status string) record {
		r := made(id, "1", impl, ns, 1980, "cold")
		r.Case, r.Status = r.Case+strconv.FormatInt(cols, 10), status
		r.Dims = map[string]int64{"rows": 8, "cols": cols}
		return r
	}
	sum := func(id, impl string, ns float64) record {
		r := point(id, impl, ns, 4, "PASS")
		r.Op, r.Case = "sum", "sum"
		return r
	}
	records := []record{
		point("1", "cuda/vec", 1000, 4, "PASS"), point("2", "triton/row", 800, 4, "PASS"),
		point("3", "cuda/vec", 1000, 5, "PASS"), point("4", "torch/eager", 2000, 5, "PASS"),
		point("5", "torch/compile", 10, 5, "DIFFERENT_CONTRACT"), point("6", "cuda/vec", 1000, 6, "PASS"),
		sum("7", "cuda/vec", 90), sum("8", "torch/eager", 100),
	}
	got := strings.Join(standings(groups(records)), "\n")
	if want := "| softmax backward | 2 | 0.50 to 1.25 | triton/row |  |\n\n" +
		"Nowhere behind: sum backward."; !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	near := 0.96 // behind, and at the roofline, is not short
	reached := sum("9", "cuda/vec", 110)
	reached.Case, reached.Timing.Roofline = "at the roofline", &near
	other := sum("10", "torch/eager", 100)
	other.Case = reached.Case
	got = strings.Join(shortOf(groups(append(records, reached, other))), "\n")
	if want := "| softmax backward | 1 of 2 | 1.25 | triton/row |  |\n\n" +
		"1 of 4 points fall short."; !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	swayed := sum("11", "cuda/warp", 50) // faster than all, and not to be trusted
	swayed.Timing.Status = unstable
	got = strings.Join(shortOf(groups(append(records, swayed))), "\n")
	if want := "1 of 2 points fall short.\n\nNot compared, since the fastest time of one side is UNSTABLE: " +
		"sum backward 8 x 4, bf16."; !strings.HasPrefix(got, "| operator") || !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	got = strings.Join(timesTable(groups(append(records, swayed)), rowTable), "\n")
	if !strings.Contains(got, swaying+" |") || !strings.Contains(got, unstable) {
		t.Errorf("the unstable time is not marked:\n%s", got)
	}
	if got := standings(nil); len(got) != 1 || len(shortOf(nil)) != 1 {
		t.Errorf("nothing recorded: %q", got)
	}
}
