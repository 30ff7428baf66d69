package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"triad/internal/browser"
	"triad/internal/op"
	"triad/internal/pages/pagestest"
	"triad/internal/record"
	"triad/internal/report"
	"triad/internal/resultdiff"
	"triad/results"
)

// nothing returns a database without a session.
func nothing(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "r.db")
	store, err := results.Open(context.Background(), path, results.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// serving serves a database and returns the server and its address, host and port.
func serving(t testing.TB, path string, o Options) (*Server, string) {
	t.Helper()
	store, err := results.Open(context.Background(), path, results.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o.Now = time.Now
	o.Query = func(ctx context.Context, statement string, params map[string]string, format string) (
		Rows, error,
	) {
		values := map[string]any{}
		for name, value := range params {
			values[name] = value
		}
		answer, err := results.Query(ctx, path, statement, values, results.Limits{HeapBytes: 1 << 30})
		if err != nil {
			return Rows{}, Refused(err.Error())
		}
		var text bytes.Buffer
		write := report.JSONRows
		if format == "csv" {
			write = report.CSV
		}
		err = write(&text, answer.Columns, answer.Rows)
		return Rows{text.Bytes(), answer.Cut}, err
	}
	o.Since = func(string) (time.Time, error) { return time.Time{}, errors.New("no time") }
	o.Side = func(ctx context.Context, name string) (resultdiff.Side, error) {
		last := map[string]int{"last": 1, "last~1": 2}[name]
		return store.Side(
			ctx,
			name,
			results.Selection{Last: last, Session: name[:min(len(name), 1-min(last, 1))]},
		)
	}
	s, err := New(store, listener, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.Serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		store.Close()
	})
	return s, listener.Addr().String()
}

// answers maps addresses to the beginnings of their pages.
var answers = map[string]string{
	"/runs?op=" + pagestest.Operator + "&status=bad": "2 runs",
	"/runs?status=nonsense":                          "No run fits.",
	"/runs?since=yesterday":                          "no time",
	"/runs?impl=nobody":                              "No run fits.",
	"/diff?a=last~1&b=last":                          "B is worse than A: 2 became wrong.",
	"/diff?a=last&b=last~1":                          "Nothing became wrong",
	"/diff?a=x&b=last":                               "no session has this ID",
	"/diff":                                          "Which two sets of runs?",
	"/query":                                         "One read-only SQL statement",
	"/query?saved=least-headroom":                    "50 rows.",
	"/query?sql=drop+table+run":                      "Only reading is allowed",
	"/query?sql=select+:a+as+x&p_a=7":                "1 row.",
	"/findings":                                      "What triad found",
	"/op/" + pagestest.Operator:                      "1 of 3 implementations is wrong",
}

// TestPagesInABrowser: every page renders in a browser: no script fails, nothing overflows, axe-core reports
// nothing, the links lead where they say, the filters work, and mistakes of a user are reported on the page.
func TestPagesInABrowser(t *testing.T) {
	path := pagestest.Database(t, "../../results/published/h200")
	pagestest.AddWrong(t, path)
	s, address := serving(t, path, Options{})
	p := browser.Open(t)
	p.Size(1024, 800, false)
	p.Go(s.Address())
	where := ""
	p.Eval("location.href", &where)
	if strings.Contains(where, "token") {
		t.Errorf("the token stays in the address: %s", where)
	}
	check := func(name string) {
		t.Helper()
		for _, width := range []int{360, 400, 768, 1400} {
			p.Size(width, 900, width == 768)
			if pixels := p.Overflow(); pixels > 0 {
				t.Errorf("%s at %d pixels overflows by %d", name, width, pixels)
			}
			if width != 768 { // tables scroll there
				wantNone(t, fmt.Sprintf("%s at %d pixels is cut", name, width), p.Cut())
			}
		}
		wantNone(t, name, append(p.Axe(), p.Errors()...))
	}
	answer := func() (words string) {
		p.Eval(`document.querySelector(".answer").textContent`, &words)
		return words
	}
	check("sessions")
	p.Follow(`document.querySelector("#sessions tbody a").click()`)
	check("session")
	p.Follow(`document.querySelector("#wrong tbody a").click()`)
	check("run")
	command := ""
	p.Eval(`document.querySelector(".command pre").textContent`, &command)
	if !strings.HasPrefix(command, "triad compare "+pagestest.Operator+" ") ||
		!strings.Contains(answer(), "FAIL") {
		t.Errorf("the run says %q and %q", answer(), command)
	}
	for page, says := range answers {
		p.Go("http://" + address + page)
		check(page)
		if !strings.Contains(answer(), says) {
			t.Errorf("%s says %q, want %q", page, answer(), says)
		}
	}
	p.Go("http://" + address + "/runs")
	p.Eval(`document.querySelector("[name=status]").value = "bad";
		document.querySelector("[name=op]").value = "`+pagestest.Operator+`"`, nil)
	p.Follow(`document.querySelector(".search button").click()`)
	if !strings.Contains(answer(), "2 runs") {
		t.Errorf("the form of runs leads to %q", answer())
	}
	sortsByDType(t, p)
	p.Go("http://" + address + "/runs")
	sortsAsText(t, p)
}

// sortsByDType sorts the two wrong runs of a page by dtype.
func sortsByDType(t *testing.T, p *browser.Page) {
	t.Helper()
	order := ""
	p.Eval(`document.querySelectorAll("#runs thead button")[3].click();
		Array.from(document.querySelectorAll("#runs tbody tr")).map((r) => r.cells[3].textContent)
			.join(" ")`, &order)
	if order != "bf16 fp32" {
		t.Errorf("sorted by dtype: %q", order)
	}
}

// sortsAsText sorts the runs of a page, newest first, by their IDs and dates, which only begin with digits.
func sortsAsText(t *testing.T, p *browser.Page) {
	t.Helper()
	for column, name := range map[int]string{0: "ID", 9: "date"} {
		sorted := false
		p.Eval(fmt.Sprintf(`(() => {
			const button = document.querySelectorAll("#runs thead button")[%d];
			button.click();
			if (button.parentNode.getAttribute("aria-sort") !== "ascending") { button.click(); }
			const words = Array.from(document.querySelectorAll("#runs tbody tr"))
				.map((r) => r.cells[%[1]d].textContent);
			return words.length > 9 && words[0] < words.at(-1) &&
				words.every((w, i) => !i || words[i - 1] <= w);
		})()`, column), &sorted)
		if !sorted {
			t.Errorf("the runs are not sorted by %s", name)
		}
	}
}

// TestASessionIsFollowedWhileItRuns: a running session reports its progress, and its page follows it until it
// ends.
func TestASessionIsFollowedWhileItRuns(t *testing.T) {
	ctx := context.Background()
	path := nothing(t)
	store, err := results.Open(ctx, path, results.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	item := record.Item{Case: op.Case{
		Op: pagestest.Operator, Pass: op.Forward, DType: "fp32", Layout: "contiguous", Distribution: "normal",
	}, Impl: "cuda/a", Seed: 1}
	other := item
	other.Impl = "cuda/b"
	x, err := store.Start(ctx, record.Session{Request: "r"}, []record.Item{item, other})
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Begin(ctx, item); err != nil {
		t.Fatal(err)
	}
	s, address := serving(t, path, Options{})
	ask := func() (now progress) { return asked(t, s, "http://"+address+"/live/"+x.ID()) }
	now := ask()
	if !now.Running || now.Planned != 2 || now.Ended != 0 ||
		!strings.Contains(now.Words, "Now cuda/a on doubled") {
		t.Errorf("%+v", now)
	}
	p := browser.Open(t)
	p.Size(800, 600, false)
	p.Go(s.Address())
	p.Go("http://" + address + "/session/" + x.ID())
	said := ""
	p.Eval(`new Promise((done) => {
		const status = document.querySelector("#live [role=status]");
		const look = () => status.textContent.includes("ended") ? done(status.textContent)
			: setTimeout(look, 20);
		look();
	})`, &said)
	if !strings.HasPrefix(said, "0 of 2 runs ended") {
		t.Errorf("the page says %q", said)
	}
	p.Expect()
	if err := x.Finish(ctx, true, 0); err != nil {
		t.Fatal(err)
	}
	p.Loaded() // it reloads itself when the session has ended
	live := 0
	p.Eval(`document.querySelectorAll("#live").length`, &live)
	if now = ask(); live != 0 || now.Running {
		t.Errorf("after its end: %+v, %d progress bars", now, live)
	}
}

// progress is the report of a running session.
type progress struct {
	Running        bool
	Planned, Ended int
	Words          string
}

// asked reads the progress at an address.
func asked(t *testing.T, s *Server, address string) (now progress) {
	t.Helper()
	request, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.AddCookie(&http.Cookie{Name: s.cookie, Value: s.token})
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(&now); err != nil {
		t.Fatal(err)
	}
	return now
}

// wantNone reports each of the faults that were found.
func wantNone(t *testing.T, where string, found []string) {
	t.Helper()
	for _, fault := range found {
		t.Errorf("%s: %s", where, fault)
	}
}
