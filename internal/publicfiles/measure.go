package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"triad/internal/candidates"
	"triad/internal/op"
	"triad/internal/subprocess"
)

// exitUsage is triad's exit code when it refuses a file.
const exitUsage = 2

// asker runs triad on files in a folder of checked-out repositories.
type asker struct {
	triad, folder, database string
	limit                   time.Duration // for one file
}

// place returns the path of a file: FOLDER/OWNER+NAME/PATH.
func (a asker) place(f *public) string {
	return filepath.Join(a.folder, strings.ReplaceAll(f.repository, "/", "+"), filepath.FromSlash(f.path))
}

// isThere reports whether the folder has the file with the contents that the manifest names.
func (a asker) isThere(f *public) bool {
	text, err := os.ReadFile(a.place(f))
	if err != nil {
		return false
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]) == f.sha256
}

// ask returns triad's verdicts on a file, the seconds that it took, and what it printed to stderr.
func (a asker) ask(ctx context.Context, f *public, flags []string) (
	given string, seconds float64, output string, err error,
) {
	args := []string{
		"compare", f.operator, "--quick", "--device", "cpu", "--json", "--impl", "mine", "--db", a.database,
	}
	flags = slices.Clone(flags)
	if at := slices.Index(flags, "--add"); at >= 0 && at+1 < len(flags) { // FILE:NAME
		flags[at+1] = a.place(f) + strings.TrimPrefix(flags[at+1], "FILE")
	} else {
		args = append(args, "--add", a.place(f))
	}
	var words bytes.Buffer
	began := time.Now()
	out, err := subprocess.Run(ctx, subprocess.Command{
		Path: a.triad, Args: append(args, flags...), Stderr: &words, Deadline: a.limit,
	})
	seconds = time.Since(began).Seconds()
	failed := &exec.ExitError{}
	switch {
	case errors.Is(err, subprocess.ErrDeadline):
		return noVerdict, seconds, words.String(), nil
	case err != nil && !errors.As(err, &failed):
		return "", 0, "", fmt.Errorf("ask about %s: %w", f.path, err)
	}
	given, err = givenBy(out)
	if given == "" && err == nil {
		given, err = withoutRecords(failed.ProcessState, words.String())
	}
	return given, seconds, words.String(), err
}

// withoutRecords returns the outcome of a file without records.
func withoutRecords(end *os.ProcessState, output string) (string, error) {
	switch {
	case end == nil || end.ExitCode() != exitUsage:
		return "", fmt.Errorf("nothing was recorded, and exit is %v, want %d:\n%s", end, exitUsage, output)
	case strings.Contains(output, "no function to judge"),
		strings.Contains(output, "no function that triad can call"):
		return noFunction, nil
	}
	return refused, nil
}

// givenBy returns the distinct verdicts of the functions in the output of compare --json, joined by +; "" if
// there are none.
func givenBy(records string) (string, error) {
	rows := map[string]*candidates.Row{}
	for line := range strings.Lines(records) {
		var record struct {
			Impl, ID string
			Status   op.Status
		}
		if !strings.HasPrefix(line, `{"id":`) {
			continue // of the session, not of a run
		}
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			return "", fmt.Errorf("read a record: %w", err)
		}
		if rows[record.Impl] == nil {
			rows[record.Impl] = &candidates.Row{}
		}
		rows[record.Impl].Add(record.Status, "", record.ID)
	}
	var words []string
	for _, row := range rows {
		words = append(words, row.Verdict.String())
	}
	slices.Sort(words)
	return strings.Join(slices.Compact(words), "+"), nil
}
