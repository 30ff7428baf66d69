package main

import (
	"fmt"
	"net"
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
