// Command testinputs prints the inputs of tests that a change affects, for TRIAD_TEST_CHANGED: one path from
// the module's root on each line, or "." if everything may have changed.
//
// The base is the merge base with the main branch; on main itself, the first parent. Files that are not
// committed count. A changed header of CUDA counts as a change of each kernel file that includes it. Without
// a base, as in a shallow clone, everything has changed.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"triad/internal/subprocess"
)

// everywhere lists the paths that every test depends on: what is installed, and which cases run.
var everywhere = []string{
	"go.mod", "go.sum", "requirements.txt", "requirements-cuda.txt", "Makefile", ".ci/run", "internal/need/",
	"internal/testreport/", "internal/testinputs/", "pybridge/tests/tiers.py",
}

func main() {
	base := flag.String("base", "", "the commit to compare with, instead of the merge base")
	flag.Parse()
	if err := run(".", *base, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "testinputs:", err)
		os.Exit(1)
	}
}

// run prints the changed inputs of the checkout at root, and writes to notes what they were compared with.
func run(root, base string, out, notes io.Writer) error {
	if base == "" {
		base = mergeBase(root)
	}
	if base == "" {
		fmt.Fprintln(notes, "there is no commit to compare with: everything counts as changed")
		_, err := fmt.Fprintln(out, ".")
		return err
	}
	changed, err := changes(root, base)
	if err != nil {
		return err
	}
	files := os.DirFS(root)
	inputs, err := withKernels(files, changed)
	if err != nil {
		return err
	}
	fmt.Fprintf(notes, "%d files changed since %.12s\n", len(changed), base)
	for _, file := range changed {
		if slices.ContainsFunc(everywhere, func(p string) bool {
			return file == p || strings.HasSuffix(p, "/") && strings.HasPrefix(file, p)
		}) {
			fmt.Fprintf(notes, "every test depends on %s\n", file)
			inputs = append(inputs, ".")
			break
		}
	}
	for _, input := range inputs {
		if _, err := fmt.Fprintln(out, input); err != nil {
			return err
		}
	}
	return nil
}

// git runs git in the checkout.
func git(root string, args ...string) (string, error) {
	var stderr bytes.Buffer
	text, err := subprocess.Run(context.Background(), subprocess.Command{
		Path: "git", Args: args, Dir: root, Stderr: &stderr,
	})
	if err != nil {
		return "", fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return text, nil
}

// mergeBase returns the commit that the change starts from, "" if none is known.
func mergeBase(root string) string {
	if shallow, err := git(root, "rev-parse", "--is-shallow-repository"); err != nil ||
		strings.TrimSpace(shallow) != "false" {
		return ""
	}
	head, err := git(root, "rev-parse", "HEAD")
	if err != nil {
		return ""
	}
	branch, err := git(root, "symbolic-ref", "--short", "--quiet", "HEAD")
	// including a commit that was checked out by its hash
	onMain := err != nil || strings.TrimSpace(branch) == "main"
	for _, main := range []string{"origin/main", "main"} {
		if base, err := git(root, "merge-base", "HEAD", main); err == nil && (base != head || !onMain) {
			return strings.TrimSpace(base)
		}
	}
	parent, err := git(root, "rev-parse", "--verify", "--quiet", "HEAD^1")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(parent)
}

// changes lists the files that differ from the base, untracked files included.
func changes(root, base string) ([]string, error) {
	tracked, err := git(root, "diff", "--name-only", "--no-renames", "-z", base)
	if err != nil {
		return nil, err
	}
	untracked, err := git(root, "ls-files", "--others", "--exclude-standard", "-z")
	if err != nil {
		return nil, err
	}
	files := map[string]bool{}
	for file := range strings.SplitSeq(tracked+untracked, "\x00") {
		if file != "" {
			files[file] = true
		}
	}
	return slices.Sorted(maps.Keys(files)), nil
}

var included = regexp.MustCompile(`(?m)^\s*#\s*include\s*"([^"]+)"`)

// withKernels adds the kernel files that include a changed file. It compares base names only, as each header
// of cuda/include has its own: it may test a file too many, but none too few.
func withKernels(files fs.FS, changed []string) ([]string, error) {
	includes := map[string][]string{} // by path
	err := fs.WalkDir(files, "cuda", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !slices.Contains([]string{".cu", ".cuh", ".h"}, path.Ext(file)) {
			return err
		}
		text, err := fs.ReadFile(files, file)
		for _, m := range included.FindAllSubmatch(text, -1) {
			includes[file] = append(includes[file], path.Base(string(m[1])))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	reached := map[string]bool{}
	for _, file := range changed {
		reached[file] = true
	}
	for more := true; more; {
		more = false
		names := map[string]bool{}
		for file := range reached {
			names[path.Base(file)] = true
		}
		for file, included := range includes {
			if !reached[file] && slices.ContainsFunc(included,
				func(name string) bool { return names[name] }) {
				reached[file], more = true, true
			}
		}
	}
	for file := range reached {
		if !slices.Contains(changed, file) && path.Dir(file) != "cuda/kernels" {
			delete(reached, file) // a header: its own tests did not change
		}
	}
	return slices.Sorted(maps.Keys(reached)), nil
}
