package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"triad/internal/pages/pagestest"
	"triad/internal/session"
)

// TestServeRefusesWhatCannotBeServed: a port that is in use, an invalid port and a missing database are
// reported.
func TestServeRefusesWhatCannotBeServed(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	path := t.TempDir() + "/r.db"
	pagestest.AddWrong(t, path)
	for line, c := range map[string]struct {
		code session.ExitCode
		says string
	}{
		fmt.Sprintf("serve --db %s --port %d", path, listener.Addr().(*net.TCPAddr).Port): {
			session.ExitUsage, "--port 0 takes any that is free",
		},
		"serve --port 99999":                          {session.ExitUsage, "want 0 to 65535"},
		"serve --port 0 --db " + path + "/nothing.db": {session.ExitUsage, "is no folder"},
		"serve --port 0 --db " + path + ".none":       {session.ExitNothing, "record something first"},
	} {
		if text, code := runTriad(t, strings.Fields(line)...); code != int(c.code) ||
			!strings.Contains(text, c.says) {
			t.Errorf("triad %s: exit %d, want %d and %q in\n%s", line, code, c.code, c.says, text)
		}
	}
}

// TestServeRunsSQL: a page runs SQL that was typed, with the limits of triad results query, and offers its
// rows as CSV and JSON; what is refused is said.
func TestServeRunsSQL(t *testing.T) {
	path := t.TempDir() + "/r.db"
	pagestest.AddWrong(t, path)
	ask := servedBy(t, path)
	const select2 = "SELECT implementation, count(*) AS n FROM history\nWHERE status = :status GROUP BY 1"
	for _, c := range []struct {
		page, sql, more string
		status          int
		says            string
	}{
		{"/query", select2, "&p_status=FAIL", http.StatusOK, "1 row."},
		{
			"/query.csv", select2, "&p_status=FAIL", http.StatusOK,
			"implementation,n\nmine/<script>alert(1)</script>,2\n",
		},
		{"/query.json", "SELECT 1.5 AS x", "", http.StatusOK, `{"x":1.5}`},
		{"/query", "DELETE FROM run", "", http.StatusOK, "Only reading is allowed"},
		{"/query.csv", "DELETE FROM run", "", http.StatusBadRequest, "only reading is allowed"},
		{"/query", "--version", "", http.StatusOK, "empty"},
		{"/query", "SELECT :a", "", http.StatusOK, ":a"},
		{
			"/query", "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c",
			"", http.StatusOK, "topped after 2s",
		},
	} {
		if status, text := ask(c.page, c.sql, c.more); status != c.status || !strings.Contains(text, c.says) {
			t.Errorf("%s?sql=%s: %d, lacks %q in\n%.1500s", c.page, c.sql, status, c.says,
				text[max(0, strings.Index(text, "<h1")):])
		}
	}
}

// servedBy starts triad serve as a process of its own, and returns a function that asks for a page of SQL.
func servedBy(t *testing.T, path string) (ask func(page, sql, more string) (int, string)) {
	t.Helper()
	self, err := exec.LookPath("triad")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "serve", "--port", "0", "--db", path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Jar: jar}
	get := func(address string) (int, string) {
		t.Helper()
		answer, err := client.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(text)
	}
	address, _, _ := strings.Cut(line, " ")
	get(address)
	base, _, _ := strings.Cut(address, "/?")
	return func(page, sql, more string) (int, string) {
		t.Helper()
		return get(base + page + "?sql=" + url.QueryEscape(sql) + more)
	}
}
