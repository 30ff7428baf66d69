package main

import (
	"strings"
	"testing"

	"triad/internal/session"
)

// A --db whose variable is not set is no database: the user's own is not taken in its place.
func TestEmptyDatabaseName(t *testing.T) {
	text, code := runTriad(t, "results", "list", "--db", "")
	if code != int(session.ExitUsage) || !strings.Contains(text, "--db is empty") {
		t.Errorf("exit %d\n%s", code, text)
	}
}
