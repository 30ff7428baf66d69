package fileversion

import (
	"context"
	"strconv"
	"strings"
	"time"

	"triad/internal/subprocess"
)

// A log of a long history takes longer than a question about one commit.
const (
	logLimit = time.Minute
	mostLog  = 64 << 20 // bytes
)

// Change describes what one commit did to one file.
type Change struct {
	Commit         string // hash
	Time           time.Time
	Subject        string
	File           string // below the folder that was asked for
	Added, Removed int    // lines; -1 for a binary file
}

// Log returns what commits changed below a folder, newest first, merges apart. in is false if the folder is
// in no repository, if nothing is committed yet, or if git is missing.
func Log(ctx context.Context, folder string) (changes []Change, in bool, err error) {
	if head, err := git(ctx, folder, "rev-parse", "--verify", "--quiet", "HEAD"); err != nil || head == "" {
		return nil, false, ctx.Err()
	}
	text, err := subprocess.Run(ctx, subprocess.Command{
		Path: "git", Deadline: logLimit, MostOutput: mostLog,
		Args: []string{
			"-C", folder, "-c", "core.fsmonitor=false", "-c", "log.showSignature=false", "log", "-z",
			"--no-merges", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", "--numstat",
			"--relative", "--format=" + began + "%H%x00%aI%x00%s%x00", "--", ".",
		},
	})
	if err != nil {
		return nil, true, err
	}
	return parseLog(text), true, nil
}

// began begins each commit in the output of git log.
const began = "\x01triad\x01"

// parseLog reads the output of Log's git: after the hash, the date and the subject of each commit, its files
// as ADDED, REMOVED and PATH with tabs between them; each field ends with a NUL.
func parseLog(text string) []Change {
	var changes []Change
	for _, commit := range strings.Split(text, began)[1:] {
		fields := strings.Split(commit, "\x00")
		if len(fields) < 4 {
			continue
		}
		at, err := time.Parse(time.RFC3339, fields[1])
		if err != nil {
			continue
		}
		for _, field := range fields[3:] {
			parts := strings.SplitN(strings.TrimLeft(field, "\n"), "\t", 3)
			if len(parts) != 3 {
				continue
			}
			changes = append(changes, Change{
				Commit: fields[0], Time: at, Subject: fields[2], File: parts[2], Added: lines(parts[0]),
				Removed: lines(parts[1]),
			})
		}
	}
	return changes
}

// lines reads a number of lines; "-" stands for a binary file.
func lines(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return n
}
