package results

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"triad/internal/op"
)

// ParseTime parses "2h" or "7d" ago, "2026-01-31" or "2026-01-31T12:00:00"; what names the value in the
// error.
func ParseTime(what, text string, now time.Time) (time.Time, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 && n < 100_000 {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.DateOnly, "2006-01-02T15:04:05", time.RFC3339} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, op.Usagef(
		"%s%q: want a duration such as 2h or 7d, or a date such as 2026-01-31",
		what,
		text,
	)
}

var (
	commitHash = regexp.MustCompile(`^[0-9a-f]{7,40}$`)
	lastWord   = regexp.MustCompile(`^last(?:~(\d{1,6}))?$`)
	sessionID  = regexp.MustCompile(`^(?i)[0-9A-HJKMNP-TV-Z]{1,26}$`)
)

// ParseSide parses the name of a side of a diff: a selection of runs, or the file of a database.
func ParseSide(name string, now time.Time) (s Selection, file string, err error) {
	if text, ok := strings.CutPrefix(name, "commit:"); ok {
		s.Commit = strings.ToLower(text)
		if !commitHash.MatchString(s.Commit) {
			err = op.Usagef("%s: want 7 to 40 hexadecimal digits of a commit", name)
		}
		return s, "", err
	}
	if text, ok := strings.CutPrefix(name, "machine:"); ok {
		if s.Machine = text; text == "" {
			err = op.Usagef(
				"machine: wants a part of the name of a GPU or CPU after it, such as machine:H200")
		}
		return s, "", err
	}
	if text, ok := strings.CutPrefix(name, "before:"); ok {
		s.Before, err = ParseTime("before:", text, now)
		return s, "", err
	}
	if m := lastWord.FindStringSubmatch(name); m != nil {
		back, _ := strconv.Atoi(m[1])
		s.Last = back + 1
		return s, "", nil
	}
	if info, statErr := os.Stat(name); statErr == nil && !info.IsDir() || strings.HasSuffix(name, ".db") ||
		strings.ContainsRune(name, os.PathSeparator) {
		return s, name, nil
	}
	if commitHash.MatchString(name) {
		s.Commit = name
		return s, "", nil
	}
	if !sessionID.MatchString(name) {
		return s, "", op.Usagef(
			"%q is no session, commit or database: want a session's ID, last, last~1, commit:HASH, "+
				"FILE.db, machine:TEXT or before:DATE",
			name,
		)
	}
	s.Session = name
	return s, "", nil
}
