// Package diary makes a table by day of what a folder's kernels became: from the database the verdicts and
// times, from git what was changed. It says nothing that neither has: a file that was not judged on a day has
// no verdict on it, and a day without a run is a day of its own.
package diary

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"triad/internal/exercise"
	"triad/internal/op"
	"triad/internal/record"
)

// Change describes what one commit did to one file.
type Change struct {
	Commit         string // hash
	Time           time.Time
	Subject        string
	File           string // below the folder
	Added, Removed int    // lines; -1 for a binary file
}

// Sources holds the data of a diary.
type Sources struct {
	Folder    string // absolute, without links
	Tallies   []record.Tally
	Changes   []Change
	Git       bool // the folder is in a repository
	Exercises []exercise.Exercise
	Today     time.Time // in the zone whose days count
}

// Diary lists what happened, by day.
type Diary struct {
	Days []Day
	Git  bool
	// Elsewhere counts files of the database that lie outside of the folder: they are left out.
	Elsewhere int
}

// Day is one day.
type Day struct {
	Date  string `json:"date"` // 2026-11-28
	Files []File `json:"files"`
}

// File is the result of a file on one day.
type File struct {
	File      string   `json:"file"`      // below the folder
	What      []string `json:"what"`      // operators and exercises; empty if it was not judged
	Verdict   *Verdict `json:"verdict"`   // of the day's last forward; null if there was none
	Gradients *Verdict `json:"gradients"` // of the day's last backward; null if there was none
	MedianNS  float64  `json:"median_ns"` // of the first case that was timed; 0 if none was
	Timed     string   `json:"timed"`     // that case: "rows=8192 cols=8192 fp32"
	Changed   []string `json:"changed"`   // verdicts that changed, and subjects of commits
}

// Verdict holds the result of one pass of a file in the last session of a day.
type Verdict struct {
	// "PASS", or that of the first wrong case; with ", stopped" if the session was stopped
	Status  string `json:"status"`
	Good    int    `json:"good"` // cases
	Bad     int    `json:"bad"`
	Message string `json:"message"` // of the first wrong case; "" if nothing is wrong
	Device  string `json:"device"`
	Session string `json:"session"`
}

// Judged reports whether the file was judged on the day.
func (f File) Judged() bool { return f.Verdict != nil || f.Gradients != nil }

// Judged reports whether something was judged on the day.
func (d Day) Judged() bool {
	return slices.ContainsFunc(d.Files, File.Judged)
}

// entry collects a file's day.
type entry struct {
	file    string
	runs    []record.Tally
	changes []Change
}

// Of makes the diary: every day from the first with a run or a commit to today.
func Of(s Sources) Diary {
	out := Diary{Git: s.Git}
	days := map[string]map[string]*entry{}
	at := func(when time.Time, file string) *entry {
		date := when.In(s.Today.Location()).Format(time.DateOnly)
		if days[date] == nil {
			days[date] = map[string]*entry{}
		}
		if days[date][file] == nil {
			days[date][file] = &entry{file: file}
		}
		return days[date][file]
	}
	elsewhere := map[string]bool{}
	for _, t := range s.Tallies {
		file, inside := below(s.Folder, t)
		if !inside {
			elsewhere[t.Impl] = true
			continue
		}
		e := at(t.Started, file)
		e.runs = append(e.runs, t)
	}
	out.Elsewhere = len(elsewhere)
	for _, c := range s.Changes {
		if ending := path.Ext(c.File); ending == ".cu" || ending == ".cuh" || ending == ".py" {
			e := at(c.Time, c.File)
			e.changes = append(e.changes, c)
		}
	}
	if len(days) == 0 {
		return out
	}
	was := map[string]record.Tally{} // the newest so far of each file, operator and pass
	for _, date := range dates(days, s.Today) {
		day := Day{Date: date, Files: []File{}}
		for _, file := range sorted(days[date]) {
			day.Files = append(day.Files, fileOf(days[date][file], was, s.Exercises))
		}
		out.Days = append(out.Days, day)
	}
	return out
}

// dates lists every day from the first of a diary to today, or to its last if that is later.
func dates(days map[string]map[string]*entry, today time.Time) []string {
	known := sorted(days)
	last := max(known[len(known)-1], today.Format(time.DateOnly))
	day, err := time.Parse(time.DateOnly, known[0])
	if err != nil {
		return known
	}
	var all []string
	for ; day.Format(time.DateOnly) <= last; day = day.AddDate(0, 0, 1) {
		all = append(all, day.Format(time.DateOnly))
	}
	return all
}

func sorted[T any](of map[string]T) []string {
	names := make([]string, 0, len(of))
	for name := range of {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// below returns the path below a folder of the file that a tally is about, and whether it lies there.
func below(folder string, t record.Tally) (string, bool) {
	stem := strings.TrimPrefix(t.Impl, "mine/")
	for _, ending := range []string{".cu", ".py"} {
		if before, _, is := strings.Cut(stem, ending+":"); is {
			stem = before + ending
		}
	}
	for _, word := range t.Added {
		if strings.HasPrefix(word, "--") {
			continue
		}
		file := fileIn(word)
		if of, is := strings.CutPrefix(word, record.FileWord); is { // of many files, each with its name
			name, path, _ := strings.Cut(of, "=")
			if t.Impl != name && !strings.HasPrefix(t.Impl, name+":") {
				continue
			}
			file = fileIn(path)
		} else if !strings.HasSuffix(file, "/"+stem) {
			continue
		}
		if rel, err := filepath.Rel(folder, file); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel), true
		}
	}
	return "", false
}

// fileIn returns the file of a word of --add, without a function and a pass.
func fileIn(word string) string {
	for _, ending := range []string{".cu", ".py"} {
		if at := strings.LastIndex(word, ending); at >= 0 {
			return word[:at+len(ending)]
		}
	}
	return word
}

// fileOf sums up a file's day; was holds the verdicts of the days before, and gets those of this one.
func fileOf(e *entry, was map[string]record.Tally, exercises []exercise.Exercise) File {
	f := File{File: e.file, What: []string{}, Changed: []string{}}
	slices.SortStableFunc(e.runs, func(a, b record.Tally) int {
		return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.Session, b.Session))
	})
	sources := map[string]bool{}
	for _, t := range e.runs {
		sources[t.Source] = true
		if !slices.Contains(f.What, t.Op) {
			f.What = append(f.What, t.Op)
		}
		key := e.file + " " + t.Impl + " " + t.Op + " " + t.Pass.String()
		if before, is := was[key]; is && status(before) != status(t) {
			f.Changed = append(f.Changed, fmt.Sprintf("%s was %s, is %s", t.Pass, status(before), status(t)))
		}
		was[key] = t
		if t.Timed != nil {
			f.MedianNS, f.Timed = t.Timed.MedianNS, sizes(t.Timed.Case)
		}
	}
	f.Verdict, f.Gradients = last(e.runs, op.Forward), last(e.runs, op.Backward)
	for _, x := range exercises {
		if path.Base(e.file) == x.File && slices.Contains(f.What, x.Op) {
			f.What = append(f.What, "exercise "+x.Name)
		}
	}
	if len(sources) > 1 {
		f.Changed = append(f.Changed, fmt.Sprintf("%d versions judged", len(sources)))
	}
	for _, c := range slices.Backward(e.changes) { // oldest first
		lines := ""
		if c.Added >= 0 {
			lines = fmt.Sprintf(" (+%d -%d)", c.Added, c.Removed)
		}
		f.Changed = append(f.Changed, c.Subject+lines)
	}
	return f
}

// last returns what the last of a file's sessions says about a pass; nil if none judged it. A session may
// hold several functions of the file: the worst counts.
func last(runs []record.Tally, pass op.Pass) *Verdict {
	var worst *record.Tally
	for i, t := range runs {
		if t.Pass == pass && (worst == nil || worst.Session != t.Session || rank(t) > rank(*worst)) {
			worst = &runs[i]
		}
	}
	if worst == nil {
		return nil
	}
	v := &Verdict{
		Status: status(*worst), Good: worst.Good, Bad: worst.Bad, Device: worst.Device,
		Session: worst.Session,
	}
	if rank(*worst) > 0 {
		v.Message = worst.Message
	}
	return v
}

// rank orders tallies from right to wrong.
func rank(t record.Tally) int {
	switch {
	case t.Bad > 0:
		return 3
	case t.NotUnderstood > 0:
		return 2
	case t.Good == 0:
		return 1
	}
	return 0
}

// status returns the status that stands for a tally: that of its first wrong case, or PASS.
func status(t record.Tally) string {
	verdict := t.Status.String()
	if !t.Complete {
		verdict += ", stopped"
	}
	return verdict
}

// sizes returns a case as "rows=8192 cols=8192 fp32".
func sizes(c op.Case) string {
	var b strings.Builder
	for _, d := range c.Dims {
		fmt.Fprintf(&b, "%s=%d ", d.Name, d.Value)
	}
	return b.String() + c.DType
}

// Streak counts the days on which something was judged.
type Streak struct{ Days, Judged, Longest, Current int }

// Streak counts the days with a run, and how many of them follow each other.
func (d Diary) Streak() Streak {
	s := Streak{Days: len(d.Days)}
	for _, day := range d.Days {
		if !day.Judged() {
			s.Current = 0
			continue
		}
		s.Judged++
		s.Current++
		s.Longest = max(s.Longest, s.Current)
	}
	return s
}
