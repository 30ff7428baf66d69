package fileversion

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"triad/internal/subprocess"
)

// gitLimit is the timeout of a git command.
const gitLimit = 5 * time.Second

// Commit returns ", commit 0123abcd" for the last commit that changed a file, with ", changed since" if the
// file differs from it; "" if it is in no repository or git is missing.
func Commit(ctx context.Context, path string) string {
	commit, err := git(ctx, filepath.Dir(path), "log", "-1", "--format=%h", "--", path)
	if err != nil || commit == "" {
		return ""
	}
	if state, err := git(ctx, filepath.Dir(path), "status", "--porcelain", "--", path); err != nil ||
		state != "" {
		return ", commit " + commit + ", changed since"
	}
	return ", commit " + commit
}

// Head returns the hash of the commit that is checked out in the repository of a folder, with "+changes" if
// tracked files differ from it; "" if the folder is in no repository or git is missing.
func Head(ctx context.Context, folder string) string {
	state, err := git(ctx, folder, "status", "--porcelain=v2", "--branch", "--untracked-files=no")
	if err != nil { // what takes longest is to look for changes
		if commit, err := git(ctx, folder, "rev-parse", "HEAD"); err == nil {
			return commit + "+changes"
		}
		return ""
	}
	commit, changes := "", ""
	for line := range strings.Lines(state) {
		if id, is := strings.CutPrefix(line, "# branch.oid "); is {
			commit = strings.TrimSpace(id)
		} else if !strings.HasPrefix(line, "# ") {
			changes = "+changes"
		}
	}
	if commit == "(initial)" { // nothing is committed yet
		return ""
	}
	return commit + changes
}

// git runs git in a folder and returns its output. The repository may be another user's: git starts no file
// monitor that its configuration names.
func git(ctx context.Context, folder string, args ...string) (string, error) {
	args = append([]string{"-C", folder, "-c", "core.fsmonitor=false"}, args...)
	out, err := subprocess.Run(ctx, subprocess.Command{Path: "git", Args: args, Deadline: gitLimit})
	return strings.TrimSpace(out), err
}
