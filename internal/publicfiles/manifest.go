package main

import (
	"cmp"
	"encoding/csv"
	"encoding/hex"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"triad/internal/op"
)

// columns are those of the manifest, in their order.
var columns = []string{
	"batch", "repository", "path", "commit", "sha256", "operator", "expected", "given", "seconds", "flags",
	"with_flags", "reading",
}

// The outcomes of a file of which nothing was judged.
const (
	refused    = "refused"     // one sentence, exit 2
	noFunction = "no function" // nothing in it can be called from outside
	noVerdict  = "timeout"     // no verdict in time
)

// What a file is, as found by reading it.
const (
	right = "right"
	wrong = "wrong"
	other = "other" // another operator than its name says
)

// public is one file as it was measured once, in one batch.
type public struct {
	batch, repository, path, commit, sha256, operator string

	expected  string  // right, wrong, other; "" if the file was not read
	given     string  // without a flag: statuses of its functions, joined by +, or one of the words above
	seconds   float64 // to given; 0: not measured
	flags     string  // the flags that a second call had
	withFlags string  // given then
	reading   string  // what reading it showed, in a few words
}

// statusesOf returns the statuses of its functions; none if nothing was judged.
func statusesOf(given string) (all []op.Status) {
	if given == "" || given == refused || given == noFunction || given == noVerdict {
		return nil
	}
	for _, word := range strings.Split(given, "+") {
		s, err := op.ParseStatus(word)
		if err != nil {
			s = op.StatusUnknown
		}
		all = append(all, s)
	}
	return all
}

var (
	commitWritten     = regexp.MustCompile(`^[0-9a-f]{40}$`)
	repositoryWritten = regexp.MustCompile(`^[\w.-]+/[\w.-]+$`)
)

// check returns what is wrong with an entry.
func (f *public) check() error {
	sum, err := hex.DecodeString(f.sha256)
	switch {
	case f.batch == "" || !repositoryWritten.MatchString(f.repository) || f.path == "":
		return fmt.Errorf("a batch, OWNER/NAME and a path are wanted, got %q, %q, %q", f.batch, f.repository,
			f.path)
	case !commitWritten.MatchString(f.commit) || err != nil || len(sum) != 32:
		return fmt.Errorf("%s: want a commit and a sha256 in hexadecimal", f.path)
	case !slices.Contains([]string{"", right, wrong, other}, f.expected):
		return fmt.Errorf("%s: expected is %q, want %s, %s, %s or nothing", f.path, f.expected, right, wrong,
			other)
	case f.seconds < 0:
		return fmt.Errorf("%s: %v seconds", f.path, f.seconds)
	}
	for _, given := range []string{f.given, f.withFlags} {
		for _, s := range statusesOf(given) {
			if s == op.StatusUnknown {
				return fmt.Errorf("%s: a word of %q is no status", f.path, given)
			}
		}
	}
	return nil
}

// readManifest reads the entries of a manifest. An error names the line.
func readManifest(r io.Reader) (files []*public, err error) {
	table := csv.NewReader(r)
	table.FieldsPerRecord = len(columns)
	head, err := table.Read()
	if err != nil || !slices.Equal(head, columns) {
		return nil, fmt.Errorf("the first line is %q, want %q (error: %v)", head, columns, err)
	}
	for {
		row, err := table.Read()
		if err == io.EOF {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		f := &public{
			batch: row[0], repository: row[1], path: row[2], commit: row[3], sha256: row[4], operator: row[5],
			expected: row[6], given: row[7], flags: row[9], withFlags: row[10], reading: row[11],
		}
		if row[8] != "" {
			f.seconds, err = strconv.ParseFloat(row[8], 64)
		}
		line, _ := table.FieldPos(0)
		if err := cmp.Or(err, f.check()); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		files = append(files, f)
	}
}

// writeManifest writes a manifest for readManifest.
func writeManifest(w io.Writer, files []*public) error {
	table := csv.NewWriter(w)
	rows := [][]string{columns}
	for _, f := range files {
		seconds := ""
		if f.seconds >= 0.05 { // less would be written as 0.0, which means none
			seconds = strconv.FormatFloat(f.seconds, 'f', 1, 64)
		}
		rows = append(rows, []string{
			f.batch, f.repository, f.path, f.commit, f.sha256, f.operator, f.expected, f.given, seconds,
			f.flags, f.withFlags, f.reading,
		})
	}
	if err := table.WriteAll(rows); err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	return nil
}
