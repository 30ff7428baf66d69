package fileversion

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"triad/internal/subprocess"
)

// gitLimit is how long git may take to answer.
const gitLimit = 5 * time.Second

// Commit is ", commit 0123abcd" of the last commit that changed a file, with ", changed since" where the file
// is not as committed; "" where it lies in no repository or git is missing.
func Commit(ctx context.Context, path string) string {
	git := func(args ...string) (string, error) {
		args = append([]string{"-C", filepath.Dir(path)}, args...)
		out, err := subprocess.Run(ctx, subprocess.Command{Path: "git", Args: args, Deadline: gitLimit})
		return strings.TrimSpace(out), err
	}
	commit, err := git("log", "-1", "--format=%h", "--", path)
	if err != nil || commit == "" {
		return ""
	}
	if state, err := git("status", "--porcelain", "--", path); err != nil || state != "" {
		return ", commit " + commit + ", changed since"
	}
	return ", commit " + commit
}
