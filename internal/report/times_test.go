package report

import (
	"os"
	"strings"
	"testing"
	"time"

	"triad/internal/record"
	"triad/internal/resultdiff"
)

// TestMain gives the golden files the same zone everywhere.
func TestMain(m *testing.M) {
	time.Local = time.UTC
	os.Exit(m.Run())
}

// TestTimesAreLocal: tables and pages show the time of the machine's zone with its name, in which a run of
// yesterday in UTC may be of today; JSON has UTC.
func TestTimesAreLocal(t *testing.T) {
	time.Local = time.FixedZone("CET", 3600)
	defer func() { time.Local = time.UTC }()
	at := time.Date(2026, 11, 28, 23, 30, 5, 0, time.UTC)
	for got, want := range map[string]string{
		minuteOf(at): "2026-11-29 00:30 CET", secondOf(at): "2026-11-29 00:30:05 CET",
		dayOf(at, at.Add(time.Hour)): "today 00:30 CET", dayOf(at, at.AddDate(0, 0, 1)): "2026-11-29",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	sessions := []record.SessionCount{{Session: record.Session{ID: "01A", Started: at, Ended: at}}}
	var table, lines strings.Builder
	visit := resultdiff.Visit{Started: at, Conditions: &resultdiff.Conditions{}}
	steps := map[string][]resultdiff.Step{"mine/a.cu": {{Visit: visit}}}
	err := Sessions(&table, Style{}, sessions)
	if err != nil || !strings.Contains(table.String(), "00:30 CET") {
		t.Errorf("%v\n%s", err, table.String())
	}
	err = HistoryJSON(&lines, "add", steps)
	if err != nil || !strings.Contains(lines.String(), "28T23:30:05") {
		t.Errorf("%v\n%s", err, lines.String())
	}
	text := servedText(t, HomeDocument(Home{Sessions: sessions}, "r.db", at), "/")
	if !strings.Contains(text, "2026-11-29 00:30 CET") {
		t.Errorf("the page has another time\n%s", text)
	}
}
