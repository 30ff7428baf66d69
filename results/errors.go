package results

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mattn/go-sqlite3"
)

// The errors of a database; an error wraps one of them, and its text says what to do.
var (
	ErrForeign         = errors.New("not a triad database")
	ErrNewer           = errors.New("database of a newer triad")
	ErrCorrupt         = errors.New("damaged database")
	ErrReadOnly        = errors.New("read-only database")
	ErrPlace           = errors.New("the file or its folder cannot be opened for this")
	ErrBusy            = errors.New("database in use")
	ErrFull            = errors.New("no space for the database")
	ErrNotFound        = errors.New("no such run")
	ErrAmbiguous       = errors.New("more than one run begins so")
	ErrAlreadyRecorded = errors.New("already recorded")
	ErrNothingToResume = errors.New("nothing to resume")
)

// StatementError is a mistake in SQL that a user typed: it does not parse, names something missing, writes,
// or asks for more than the limits allow.
type StatementError struct{ Message string }

// Error returns a sentence that says what to type instead.
func (e *StatementError) Error() string { return "query: " + e.Message }

// statementf makes a StatementError.
func statementf(format string, a ...any) error { return &StatementError{fmt.Sprintf(format, a...)} }

// explain turns SQLite's codes into errors that say what happened to which file and what to do. Other errors
// are only wrapped.
func (s *Store) explain(verb string, err error) error { return explain(verb+" in", s.path, err) }

func explain(verb, path string, err error) error {
	var code sqlite3.Error
	if err == nil || !errors.As(err, &code) {
		if err != nil {
			err = fmt.Errorf("%s %s: %w", verb, path, err)
		}
		return err
	}
	switch code.Code {
	case sqlite3.ErrBusy, sqlite3.ErrLocked:
		return fmt.Errorf("%s %s: %w: another process has held its lock for too long; try again, or give "+
			"another file with --db", verb, path, ErrBusy)
	case sqlite3.ErrCorrupt:
		return damagedDatabase(verb, path, err.Error())
	case sqlite3.ErrNotADB:
		return fmt.Errorf("%s %s: %w: it is no SQLite database, or its first page is damaged. Nothing was "+
			"written; give another file with --db",
			verb, path, ErrForeign)
	case sqlite3.ErrFull:
		return fmt.Errorf("%s %s: %w: free some, or give a file on another disk with --db (%v)", verb,
			path, ErrFull, err)
	case sqlite3.ErrTooBig:
		return fmt.Errorf("%s %s: %w: a value of it has more than %d MiB, and triad writes none of that "+
			"size; give another file with --db", verb, path, ErrForeign, longestValue>>20)
	case sqlite3.ErrReadonly, sqlite3.ErrPerm:
		return fmt.Errorf("%s %s: %w: make the file and its folder writable, or give another file with --db",
			verb, path, ErrReadOnly)
	case sqlite3.ErrCantOpen:
		return fmt.Errorf("%s %s: %w: check that the folder exists and its permissions, or give another "+
			"file with --db (%w)", verb, path, ErrPlace, err)
	case sqlite3.ErrIoErr:
		if code.ExtendedCode == sqlite3.ErrIoErrWrite || code.ExtendedCode == sqlite3.ErrIoErrFsync ||
			code.ExtendedCode == sqlite3.ErrIoErrSHMSize {
			return fmt.Errorf("%s %s: %w or it cannot be written: %v; free some, or give a file on another "+
				"disk with --db", verb, path, ErrFull, err)
		}
	}
	return fmt.Errorf("%s %s: %w", verb, path, err)
}

// damagedDatabase returns an error that a file is damaged, with the symptom and the remedy.
func damagedDatabase(verb, path, how string) error {
	return fmt.Errorf("%s %s: %w: %s. Nothing was written; keep the file, save what can be read with "+
		"`sqlite3 %s .recover`, "+
		"and give another file with --db", verb, path, ErrCorrupt, strings.Join(strings.Fields(how), " "),
		path)
}
