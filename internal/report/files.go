package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"triad/internal/candidates"
	"triad/internal/harmless"
	"triad/internal/op"
)

// fileLine is a line of `triad compare --add FOLDER --json`: one function of a file.
type fileLine struct {
	File    string  `json:"file"`
	Impl    string  `json:"impl"`
	Verdict string  `json:"verdict"`
	Reason  string  `json:"reason"`
	Run     string  `json:"run"`
	Session string  `json:"session"`
	Good    int     `json:"good"`
	Neutral int     `json:"neutral"`
	Bad     int     `json:"bad"`
	Seconds float64 `json:"seconds"`
}

// FileJSON writes one row as a line of JSON.
func FileJSON(w io.Writer, r *candidates.Row, session string) error {
	err := json.NewEncoder(w).Encode(fileLine{
		File: r.File, Impl: r.Impl, Verdict: r.Verdict.String(), Reason: r.Reason, Run: r.Run,
		Session: session, Good: r.Good, Neutral: r.Neutral, Bad: r.Bad, Seconds: r.Seconds,
	})
	if err != nil {
		return fmt.Errorf("write a file's line: %w", err)
	}
	return nil
}

// FilesSummary holds the lines below the table of files.
type FilesSummary struct {
	Session, Database string
	Seed              uint64
	Exit              int
	Reason            string // why the run is not complete; "" if it is
	Files             int    // judged by this command, in Seconds of wall time
	Seconds           float64
}

// Files writes a table with a row for each function of each file, and the totals.
func Files(w io.Writer, style Style, rows []*candidates.Row, s FilesSummary) error {
	w = style.Wrap(w)
	var lines [][]string
	for _, r := range rows {
		if r.Verdict == op.StatusUnknown {
			continue
		}
		lines = append(lines, []string{
			clean(r.Impl), style.status(r.Verdict), strconv.Itoa(r.Good), strconv.Itoa(r.Neutral),
			strconv.Itoa(r.Bad), secondsText(r.Seconds), clean(harmless.FirstLine(r.Reason)),
		})
	}
	header := columns("implementation", "verdict", ">good", "?>neutral", ">bad", "?>s", "reason")
	if err := style.Table(w, "  ", header, lines); err != nil {
		return err
	}
	count := candidates.CountOf(rows)
	var parts []string
	for _, status := range op.Statuses() {
		if n := count.ByVerdict[status]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, status))
		}
	}
	paint, meaning := good, "every file is right."
	switch {
	case s.Exit == 1:
		paint, meaning = bad, strings.TrimSpace("something is wrong. "+s.Reason)
	case s.Exit == 3 && s.Reason != "":
		paint, meaning = mild, s.Reason
	case s.Exit == 3:
		paint, meaning = mild, fmt.Sprintf("%s neither right nor wrong.", counted(count.Open, "function"))
	case s.Exit != 0:
		paint, meaning = bad, s.Reason
	}
	text := fmt.Sprintf("\n%s: %s. %s\n", counted(len(lines), "function"), strings.Join(parts, ", "),
		style.paint(paint, fmt.Sprintf("Exit %d: %s", s.Exit, clean(meaning))))
	if s.Files > 0 && s.Seconds > 0 {
		text += fmt.Sprintf("%s in %.0f s, %.2f a second.\n", counted(s.Files, "file"), s.Seconds,
			float64(s.Files)/s.Seconds)
	}
	text += fmt.Sprintf("Inputs from seed %d; recorded in %s, session %s.\n", s.Seed, clean(s.Database),
		s.Session)
	return write(w, text+"One file with all its cases: triad compare OP --add FILE; one run: triad results "+
		"show ID"+style.InDatabase+".\n")
}

// secondsText formats a time in seconds; "" if it is not known.
func secondsText(s float64) string {
	if s == 0 {
		return ""
	}
	return strconv.FormatFloat(s, 'f', 1, 64)
}
