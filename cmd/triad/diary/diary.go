// Package diary is the verb triad diary: what a folder's kernels became, day by day.
package diary

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"triad/internal/console"
	"triad/internal/diary"
	"triad/internal/exercise"
	"triad/internal/fileversion"
	"triad/internal/report"
	"triad/internal/session"
	"triad/results"
)

// Environment holds what the verb needs of triad.
type Environment struct {
	Out   io.Writer
	Style func() report.Style
	// Open opens the database that --db names for reading.
	Open func(ctx context.Context, db string) (*results.Store, error)
	Now  func() time.Time // nil: the clock; its zone says where days begin
}

// options holds the arguments and flags.
type options struct {
	folder, page, db string
	asJSON           bool
}

// New returns the verb.
func New(env Environment) *cobra.Command {
	if env.Now == nil {
		env.Now = time.Now
	}
	o := options{folder: "."}
	cmd := &cobra.Command{
		Use:   "diary [FOLDER]",
		Short: "what became of a folder's kernels, day by day",
		Long: `diary makes a table by day from the database and the folder's git history: the files, what they
are, the verdict and the gradients of the day's last run, the time if there is one, and what changed. A file
that was committed and not judged says so, and a day without a run has a row. Without git, the database alone
is used.

--write puts the table into a page, between two lines of it:
  ` + diary.Begin + `
  ` + diary.End,
		Example: `  triad diary
  triad diary --write README.md`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return session.UsageError("diary: want at most one folder")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				o.folder = args[0]
			}
			return run(cmd.Context(), env, o)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&o.page, "write", "", "put the table into this file, between its two marks")
	fs.BoolVar(&o.asJSON, "json", false, "one JSON object a day and line")
	fs.StringVar(&o.db, "db", "", console.DatabaseUsage)
	return cmd
}

// run runs the verb.
func run(ctx context.Context, env Environment, o options) error {
	if o.page != "" && o.asJSON {
		return session.UsageError("diary: --write and --json exclude each other")
	}
	page, err := readPage(o.page)
	if err != nil {
		return err
	}
	d, from, err := read(ctx, env, o)
	if err != nil {
		return err
	}
	switch {
	case o.asJSON:
		return report.JSONLines(env.Out, d.Days)
	case o.page == "":
		return report.Diary(env.Out, env.Style(), d, from)
	}
	text, err := diary.Into(page, report.DiaryMarkdown(d))
	if err != nil {
		return session.UsageError("diary --write %s: nothing was written: %w", o.page, err)
	}
	if text == page {
		_, err = fmt.Fprintf(env.Out, "%s is up to date.\n", o.page)
		return err
	}
	if err := replace(o.page, text); err != nil {
		return session.UsageError("diary --write %s: nothing was written: %w", o.page, err)
	}
	_, err = fmt.Fprintf(env.Out, "%s was written. %s\n", o.page, from)
	return err
}

// readPage reads the page of --write, and rejects one without the marks before anything is collected.
func readPage(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	text, err := os.ReadFile(path)
	if err == nil {
		_, err = diary.Into(string(text), "")
	}
	if err != nil {
		return "", session.UsageError("diary --write %s: nothing was written: %w", path, err)
	}
	return string(text), nil
}

// replace writes a page in one step; a link keeps pointing to it.
func replace(path, text string) error {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(target)
	if err != nil {
		return err
	}
	return renameio.WriteFile(target, []byte(text), info.Mode().Perm(),
		renameio.WithTempDir(filepath.Dir(target)), renameio.IgnoreUmask())
}

// read collects the diary of a folder, and says what it was made from.
func read(ctx context.Context, env Environment, o options) (d diary.Diary, from string, err error) {
	folder, err := filepath.Abs(o.folder)
	if err == nil {
		folder, err = filepath.EvalSymlinks(folder)
	}
	if err != nil {
		return d, "", session.UsageError("diary %s: %w", o.folder, err)
	}
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return d, "", session.UsageError("diary %s: want a folder", o.folder)
	}
	tallies, there, err := console.Tallies(ctx, env.Open, o.db)
	if err != nil {
		return d, "", err
	}
	from = "From the database"
	if !there {
		from += ", which does not exist yet,"
	}
	changes, git, err := fileversion.Log(ctx, folder)
	switch {
	case err != nil:
		return d, "", session.Fail(session.ExitNothing, fmt.Errorf("read the git history of %s: %w", o.folder,
			err))
	case git:
		from += " and the folder's git history."
	default:
		from += " alone: the folder is in no git repository with a commit."
	}
	exercises, err := exercise.All()
	if err != nil {
		return d, "", err
	}
	s := diary.Sources{
		Folder: folder, Tallies: tallies, Git: git, Exercises: exercises, Today: env.Now(),
	}
	for _, c := range changes {
		s.Changes = append(s.Changes, diary.Change(c))
	}
	d = diary.Of(s)
	if d.Elsewhere > 0 {
		from += fmt.Sprintf(" Files of other folders, left out: %d.", d.Elsewhere)
	}
	return d, from, nil
}
