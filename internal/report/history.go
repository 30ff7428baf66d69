package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"triad/internal/record"
	"triad/internal/resultdiff"
)

// History writes the sessions of each implementation, oldest first: what held, what changed, and how verdicts
// and times developed.
func History(w io.Writer, style Style, all map[string][]resultdiff.Step) error {
	if len(all) == 0 {
		return write(w, "No run fits.\n")
	}
	for i, impl := range historyOrder(all) {
		if i > 0 {
			if err := write(w, "\n"); err != nil {
				return err
			}
		}
		if err := write(w, style.paint(bold, clean(impl))+"\n"); err != nil {
			return err
		}
		var rows [][]string
		for _, s := range all[impl] {
			rows = append(rows, []string{
				minuteOf(s.Started),
				s.Session, short(s.Conditions.Commit, 9), short(s.Source, 8),
				fmt.Sprint(s.Good), fmt.Sprint(s.Neutral), style.count(s.Bad), figure(s.ErrorMargin),
				timesOf(s),
				storyOf(style, s),
			})
		}
		header := columns(
			"started",
			"session",
			"?commit",
			"source",
			">good",
			"?>neutral",
			">bad",
			"?>headroom",
			">time",
			"what changed",
		)
		if err := style.Table(w, "  ", header, rows); err != nil {
			return err
		}
	}
	return nil
}

// historyOrder sorts implementations as the tables of compare do.
func historyOrder(all map[string][]resultdiff.Step) []string {
	return slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		return cmp.Or(backendRank(a)-backendRank(b), strings.Compare(a, b))
	})
}

func short(hash string, n int) string { return hash[:min(len(hash), n)] }

// count formats a number of bad things.
func (s Style) count(n int) string {
	if n == 0 {
		return "0"
	}
	return s.paint(bad, fmt.Sprint(n))
}

// timesOf returns the time of the first case that a session timed, and the number of further ones.
func timesOf(s resultdiff.Step) string {
	if len(s.Times) == 0 {
		return ""
	}
	words := Duration(s.Times[0].Time.MedianNS)
	if more := len(s.Times) - 1; more > 0 {
		words += fmt.Sprintf(" +%d", more)
	}
	return words
}

// storyOf describes the changes in a session.
func storyOf(style Style, s resultdiff.Step) string {
	var words []string
	if s.First {
		words = append(words, "first")
	}
	words = append(words, s.Changed...)
	if s.BecameWrong > 0 {
		words = append(words, style.paint(bad, fmt.Sprintf("%d became wrong", s.BecameWrong)))
	}
	if s.BecameRight > 0 {
		words = append(words, style.paint(good, fmt.Sprintf("%d became right", s.BecameRight)))
	}
	for _, r := range s.Ratios {
		switch r.SpeedVerdict {
		case resultdiff.Slower:
			words = append(words, style.paint(bad, ratioStory("slower", r)))
		case resultdiff.Faster:
			words = append(words, style.paint(good, ratioStory("faster", r)))
		case resultdiff.Incomparable:
			words = append(words, r.Why)
		}
	}
	if s.Alike > 0 {
		words = append(words, "then "+counted(s.Alike, "session")+" alike")
	}
	return strings.Join(words, "; ")
}

func ratioStory(word string, r resultdiff.RatioOfCase) string {
	return fmt.Sprintf("%s: %.3f x [%.3f, %.3f] at %s", word, r.Ratio.Ratio, r.Low, r.High, caseWords(r.Case))
}

// step is the JSON form of a session of an implementation; docs/json.md describes it.
type step struct {
	Op          string          `json:"op"`
	Impl        string          `json:"impl"`
	Session     string          `json:"session"`
	Started     string          `json:"started"`
	Commit      string          `json:"commit"`
	Source      string          `json:"source"`
	Machine     record.Machine  `json:"machine"`
	Good        int             `json:"n_good"`
	Neutral     int             `json:"n_neutral"`
	Bad         int             `json:"n_bad"`
	BecameWrong int             `json:"n_became_wrong"`
	BecameRight int             `json:"n_became_right"`
	ErrorMargin *record.Float   `json:"headroom"`
	Changed     []string        `json:"changed"`
	Times       []changeOfTimes `json:"times"`
	Alike       int             `json:"n_alike_after"`
}

// HistoryJSON writes one object a line for each step.
func HistoryJSON(w io.Writer, op string, all map[string][]resultdiff.Step) error {
	for _, impl := range historyOrder(all) {
		for _, s := range all[impl] {
			out := step{
				Op: op, Impl: impl, Session: s.Session, Started: s.Started.UTC().Format(record.TimeFormat),
				Commit: s.Conditions.Commit, Source: s.Source, Machine: s.Conditions.Machine, Good: s.Good,
				Neutral: s.Neutral, Bad: s.Bad, BecameWrong: s.BecameWrong, BecameRight: s.BecameRight,
				ErrorMargin: s.ErrorMargin, Changed: append([]string{}, s.Changed...),
				Times: []changeOfTimes{},
				Alike: s.Alike,
			}
			for _, r := range s.Ratios {
				out.Times = append(out.Times, timesJSON(r.Ratio))
			}
			if err := JSON(w, out); err != nil {
				return err
			}
		}
	}
	return nil
}

// Sessions writes a line for each session, newest first.
func Sessions(w io.Writer, style Style, all []record.SessionCount) error {
	if len(all) == 0 {
		return write(w, "No session is recorded.\n")
	}
	rows := make([][]string, len(all))
	for i, c := range all {
		exit := c.State
		if !c.Session.Ended.IsZero() {
			exit = fmt.Sprint(c.Session.Exit)
		}
		machine := cmp.Or(c.Session.Machine.GPU, c.Session.Machine.CPU)
		rows[i] = []string{
			c.Session.ID, minuteOf(c.Session.Started), short(c.Session.Commit, 9),
			fmt.Sprint(
				c.Good,
			), fmt.Sprint(c.Neutral), style.count(c.Bad), fmt.Sprint(c.Timed), exit, clean(machine),
			clean(record.CommandLine(c.Session.Command)),
		}
	}
	return style.Table(
		w,
		"",
		columns("id", "started", "?commit", ">good", "?>neutral", ">bad", "?>timed", "exit",
			"?machine", "command"),
		rows,
	)
}

// Merged returns the sentence about what a merged database added.
func Merged(name string, sessions, sessionsThere, runs, runsThere, running int) string {
	words := fmt.Sprintf(
		"%s: %s and %s added",
		clean(name),
		counted(sessions, "session"),
		counted(runs, "run"),
	)
	if sessionsThere+runsThere > 0 {
		words += fmt.Sprintf(
			", %s and %s were there",
			counted(sessionsThere, "session"),
			counted(runsThere, "run"),
		)
	}
	if running > 0 {
		words += fmt.Sprintf("; %s had not ended: left out", counted(running, "run"))
	}
	return words + "."
}
