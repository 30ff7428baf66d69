package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"testing"

	"triad/internal/pages/pagestest"
	"triad/internal/session"
)

// TestServePrintsAnAddressThatAnswers: "triad serve --port 0" prints the address of a page that a browser can
// open, answers until Ctrl-C, and compares runs only of its own database.
func TestServePrintsAnAddressThatAnswers(t *testing.T) {
	path := t.TempDir() + "/r.db"
	pagestest.AddWrong(t, path)
	read, write := io.Pipe()
	a := newApp(nil, write, io.Discard)
	stop, interrupt := context.WithCancel(context.Background())
	defer interrupt()
	a.Stop = stop
	ended := make(chan error, 1)
	go func() { ended <- a.serve(context.Background(), path, 0, true) }()
	line, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address, rest, _ := strings.Cut(line, " ")
	if !strings.HasPrefix(address, "http://127.0.0.1:") || !strings.Contains(rest, path) {
		t.Fatalf("it prints %q", line)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Jar: jar}
	base, _, _ := strings.Cut(address, "/?")
	for _, c := range [][2]string{
		{address, "<h1>Sessions</h1>"},
		{base + "/diff?a=last~1&b=last", "B is worse than A: 2 became wrong."},
		{base + "/diff?a=last&b=other.db", "names a file: a page compares runs of its own database"},
		{base + "/diff?a=last&b=%2Fetc%2Fpasswd", "names a file"},
		{base + "/runs?since=2h", "12 runs"},
		{base + "/findings", "What triad found"},
	} {
		answer, err := client.Get(c[0])
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(text), c[1]) {
			t.Errorf("%s: %d, %v, lacks %q", c[0], answer.StatusCode, err, c[1])
		}
	}
	interrupt()
	if err := <-ended; err != nil {
		t.Errorf("it ends with %v", err)
	}
}

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
