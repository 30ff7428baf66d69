package serve

import (
	"context"
	"database/sql"
	"fmt"
	"html"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"triad/internal/op"
	"triad/internal/pages/pagestest"
	"triad/internal/record"
	"triad/results"
)

// page requests a page and returns its status and its text.
func page(t *testing.T, s *Server, address, path string) (status int, text string) {
	t.Helper()
	return send(t, address, fmt.Sprintf("GET %s HTTP/1.1\r\nHost: %s\r\nCookie: %s=%s\r\n"+
		"Connection: close\r\n\r\n", path, address, s.cookie, s.token))
}

// recorded returns a database with the given number of sessions, each with one run of the same implementation
// on the same case.
func recorded(t *testing.T, sessions int) (path string, newest record.Record) {
	t.Helper()
	ctx := context.Background()
	path = nothing(t)
	store, err := results.Open(ctx, path, results.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for range sessions {
		x, err := store.Start(ctx, record.Session{Request: "r"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		newest = record.Record{
			Case: op.Case{
				Op: pagestest.Operator, Pass: op.Forward, DType: "fp32", Layout: "contiguous",
				Distribution: "normal",
			}, Impl: "cuda/a", Backend: "cuda", Variant: "a", Device: "emulator", Status: op.StatusFail,
			Seed: 1,
		}
		if err := x.Record(ctx, &newest); err != nil {
			t.Fatal(err)
		}
		if err := x.Finish(ctx, true, 1); err != nil {
			t.Fatal(err)
		}
	}
	return path, newest
}

var link = regexp.MustCompile(`<a href="([^"]*before=[^"]*)">Older`)

// TestOlderPages: what does not fit on a page stands on the next, with the total; nothing is on two.
func TestOlderPages(t *testing.T) {
	path, newest := recorded(t, 450)
	s, address := serving(t, path, Options{})
	for start, says := range map[string][]string{
		"/runs?op=doubled&status=bad": {
			"The newest 200 of 450 runs.", "Runs 201 to 400 of 450", "Runs 401 to 450 of 450",
		},
		"/": {"The newest 200 sessions", "200 sessions, older", "50 sessions, older"},
		"/run/" + newest.ID: {
			"200 of 450 runs.", "200 of 450 runs.", "50 of 450 runs.",
		},
	} {
		seen := map[string]bool{}
		at := start
		for i, want := range says {
			status, text := page(t, s, address, at)
			if status != http.StatusOK || !strings.Contains(text, want) {
				t.Fatalf("%s, page %d: %d, without %q", start, i+1, status, want)
			}
			rows := regexp.MustCompile(`scope="row"(?: class="long")?><a href="/(?:run|session)/(\w+)"`).
				FindAllStringSubmatch(text, -1)
			for _, row := range rows {
				if seen[row[1]] {
					t.Errorf("%s, page %d: %s is there again", start, i+1, row[1])
				}
				seen[row[1]] = true
			}
			older := link.FindStringSubmatch(text)
			if (older == nil) != (i == len(says)-1) {
				t.Fatalf("%s, page %d: older pages are at %q", start, i+1, older)
			}
			if older != nil {
				at, _, _ = strings.Cut(html.UnescapeString(older[1]), "#")
			}
		}
		if len(seen) != 450 {
			t.Errorf("%s: %d rows on all pages, want 450", start, len(seen))
		}
	}
}

// TestPagesThatAreNotThere: a missing page says so in a sentence, among links to those that exist.
func TestPagesThatAreNotThere(t *testing.T) {
	path, _ := recorded(t, 1)
	s, address := serving(t, path, Options{})
	for at, want := range map[string]string{
		"/op/nobody":                          "Nothing is recorded of nobody",
		"/run/01ARZ3NDEKTSV4RRFFQ69G5FAV":     "No run in this database has the ID",
		"/session/01ARZ3NDEKTSV4RRFFQ69G5FAV": "No session in this database has the ID",
		"/run/short":                          "There is no page at /run/short.",
		"/nowhere":                            "There is no page at /nowhere.",
		"/query?saved=nobody":                 "No saved query is called nobody.",
	} {
		status, text := page(t, s, address, at)
		if status != http.StatusNotFound || !strings.Contains(text, want) ||
			!strings.Contains(text, `<a href="/runs"`) {
			t.Errorf("%s: %d %s", at, status, text[max(0, strings.Index(text, "<body")):])
		}
	}
}

// TestASlowQuestionIsStopped: a query that the database does not answer in time is stopped and reported, even
// within a transaction.
func TestASlowQuestionIsStopped(t *testing.T) {
	path, _ := recorded(t, 1)
	s, address := serving(t, path, Options{AnswerTime: 100 * time.Millisecond})
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		"PRAGMA legacy_alter_table = on", "ALTER TABLE run RENAME TO stored",
		"CREATE VIEW run AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) " +
			"SELECT r.* FROM c CROSS JOIN stored r",
	} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{"/", "/runs", "/findings", "/op/doubled"} {
		if status, text := page(t, s, address, at); status != http.StatusServiceUnavailable ||
			!strings.Contains(text, "did not answer within 100ms") {
			t.Errorf("%s: %d %.300s", at, status, text)
		}
	}
}

// TestHostsOfAPort: browsers leave out port 80.
func TestHostsOfAPort(t *testing.T) {
	for port, want := range map[int]bool{80: true, 8423: false} {
		hosts, _, err := hostsOf(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
		if err != nil || slices.Contains(hosts, "127.0.0.1") != want ||
			!slices.Contains(hosts, fmt.Sprint("localhost:", port)) {
			t.Errorf("port %d: %q, %v", port, hosts, err)
		}
	}
}

// TestCookiesOfTwoPorts: servers on two ports of one host do not take each other's cookies.
func TestCookiesOfTwoPorts(t *testing.T) {
	a, addressA := serving(t, nothing(t), Options{})
	b, addressB := serving(t, nothing(t), Options{})
	both := fmt.Sprintf("%s=%s; %s=%s", a.cookie, a.token, b.cookie, b.token)
	for _, address := range []string{addressA, addressB} {
		if status, _ := send(t, address, fmt.Sprintf("GET / HTTP/1.1\r\nHost: %s\r\nCookie: %s\r\n\r\n",
			address, both)); status != http.StatusOK {
			t.Errorf("%s: %d with the cookies of both", address, status)
		}
	}
}
