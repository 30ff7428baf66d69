package fleetrun

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"triad/internal/console"
	"triad/internal/fleet"
	"triad/internal/manyfiles"
	"triad/internal/ownfile"
	"triad/internal/ownfile/added"
	"triad/internal/ownkernels"
	"triad/internal/report"
	"triad/internal/run"
	"triad/internal/runsetup"
	"triad/internal/session"
)

// Without --shards a task judges about filesATask files, and there are at most mostTasksAlone tasks: what a
// node has judged of a task is lost with the node, and Slurm accepts 1000 tasks of one job.
const (
	FilesATask     = 50
	mostTasksAlone = 500
)

// compareFilesOn judges many files on other machines, independently.
func (a *verb) compareFilesOn(ctx context.Context, request run.Request, o *runsetup.Options) error {
	if err := manyfiles.CheckFiles(o, &request); err != nil {
		return err
	}
	files := len(o.Own.Add)
	if !o.On.Given.Changed("shards") {
		o.On.Shards = min(max((files+FilesATask-1)/FilesATask, len(o.On.Visible)), mostTasksAlone)
	}
	o.On.Shards = min(o.On.Shards, files)
	r, err := a.beginOn(ctx, request, o, []string{manyfiles.FilesWords(o)}, manyfiles.AddedFiles(o))
	if err != nil {
		return err
	}
	defer r.store.Close()
	before := manyfiles.RowsOf(o)
	kept := session.FilesOf(ctx, r.store, r.session)
	if err := kept.Outcomes(before.Take); err != nil {
		return err
	}
	ended, err := r.drive(ctx)
	return r.endFiles(kept, before.Done(), ended, err)
}

// endFiles prints the rows of the union and ends the session; before is the number of files with a row when
// the run began.
func (r *onFleet) endFiles(kept *session.Files, before int, ended fleet.Ended, why error) error {
	all := &manyfiles.Run{
		Setup: r.Setup, O: r.o, Request: r.request, Session: kept, Began: r.began,
		Rows: manyfiles.RowsOf(r.o),
		Open: ended.Stopped || len(ended.Failed) > 0,
	}
	if err := kept.Outcomes(all.Take); err != nil {
		return err
	}
	all.Judged = all.Done() - before
	for _, f := range ended.Failed {
		all.Why = fmt.Sprintf("Shard %d of %d was not done (%s)", f.Shard, r.o.On.Shards, f.Outcome.Reason)
		if code := session.ExitCode(f.Outcome.Exit); code == session.ExitUsage && all.Done() == 0 {
			why = session.Fail(code, fmt.Errorf("%s", f.Outcome.Reason))
		}
	}
	if r.o.JSON {
		for _, row := range all.InOrder() {
			if err := report.FileJSON(r.Out, row, kept.ID()); err != nil {
				return err
			}
		}
	}
	return all.End(r.store.Path(), why)
}

// rooted returns the words of --add with absolute paths.
func rooted(words []string) []string {
	all := slices.Clone(words)
	for i, text := range all {
		if r, err := ownfile.ParseRequest(text); err == nil {
			all[i] = added.Absolute(r.Path) + strings.TrimPrefix(text, r.Path)
		}
	}
	return all
}

// mostBrought limits the bytes of files that travel to nodes without a file system shared with the driver.
const mostBrought = 512 << 20

// filesToBring returns the absolute paths of the files that words of --add name and of those next to them
// that they need. A missing file is left to the task to report.
func filesToBring(words []string) (all []string, err error) {
	bytes, seen := int64(0), map[string]bool{}
	bring := func(path string) {
		info, err := os.Stat(path)
		if err != nil || seen[path] || !info.Mode().IsRegular() {
			return
		}
		seen[path] = true
		all, bytes = append(all, path), bytes+info.Size()
	}
	packages := map[string]bool{}
	for _, text := range words {
		r, err := ownfile.ParseRequest(text)
		if err != nil {
			continue
		}
		path := added.Absolute(r.Path)
		bring(path)
		if folder := filepath.Dir(path); filepath.Ext(path) == ".py" {
			if packages[folder] {
				continue
			}
			packages[folder] = true
		}
		included, err := ownkernels.Beside(path)
		if err != nil {
			return nil, console.Usage("--add %s: list what lies beside it: %w", text, err)
		}
		for _, name := range included {
			bring(name)
		}
	}
	if bytes > mostBrought {
		return nil, console.Usage(
			"--on ray brings the files to the nodes: they have %d MiB, more than %d; name fewer, "+
				"or use a cluster with a common file system",
			bytes>>20,
			int64(mostBrought)>>20,
		)
	}
	return all, nil
}
