package main

import (
	"strings"
	"testing"

	"triad/internal/session"
)

// TestEmptyDatabaseName: an empty --db, as of an unset variable, is no database, and the user's own is not
// taken instead.
func TestEmptyDatabaseName(t *testing.T) {
	text, code := runTriad(t, "results", "list", "--db", "")
	if code != int(session.ExitUsage) || !strings.Contains(text, "--db is empty") {
		t.Errorf("exit %d\n%s", code, text)
	}
}
