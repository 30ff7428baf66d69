package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"triad/internal/resultdiff"
	"triad/internal/session"
	"triad/results"
)

// OpenStore opens the database of databasePath.
func (c *Console) OpenStore(ctx context.Context, path string) (*results.Store, error) {
	named := c.DatabaseNamed(path)
	path, err := c.DatabasePath(path)
	if err != nil {
		return nil, err
	}
	store, err := results.Open(ctx, path, results.Options{Flag: c.InDatabase})
	if err != nil {
		return nil, session.StoreFailure(err, named)
	}
	if notice := store.Notice(); notice != "" {
		fmt.Fprintf(c.Err, "triad: %s\n", strings.TrimSpace(notice))
	}
	return store, nil
}

// DatabaseVariable names the database if no --db does.
const DatabaseVariable = "TRIAD_DB"

// DatabaseUsage is the help of --db.
const DatabaseUsage = "the database (default: TRIAD_DB, else results.db in the user's data directory)"

// DatabaseNamed reports whether the user names the database.
func (c *Console) DatabaseNamed(flag string) bool {
	return flag != "" || c.Getenv(DatabaseVariable) != ""
}

// DatabasePath returns the file that --db names, else TRIAD_DB, else the user's own.
func (c *Console) DatabasePath(path string) (string, error) {
	by := "--db"
	if path == "" {
		by, path = DatabaseVariable, c.Getenv(DatabaseVariable)
	}
	if path == "" {
		data, err := c.DataDir()
		return filepath.Join(data, "results.db"), err
	}
	folder := filepath.Dir(path)
	info, err := os.Stat(folder)
	switch {
	case err != nil:
		return "", Usage("%s %s: its folder cannot be used: %w; make it, or give another file", by, path, err)
	case !info.IsDir():
		return "", Usage("%s %s: %s is no folder; give another file", by, path, folder)
	}
	return path, nil
}

// ReadStore opens the database for reading; if there is none yet, the error is a sentence, and no file is
// made.
func (c *Console) ReadStore(ctx context.Context, path string) (*results.Store, error) {
	named := c.DatabaseNamed(path)
	path, err := c.DatabasePath(path)
	if err != nil {
		return nil, err
	}
	store, err := results.Open(ctx, path, results.Options{ReadOnly: true, Flag: c.InDatabase})
	if err != nil {
		return nil, session.ReadFailure(err, named)
	}
	return store, nil
}

// ReadSide reads one side of a diff; db is the database of sides that are not files themselves.
func (c *Console) ReadSide(ctx context.Context, db, name string, ops, impls []string) (
	resultdiff.Side, error,
) {
	selection, file, err := results.ParseSide(name, time.Now())
	if err != nil {
		return resultdiff.Side{}, err
	}
	selection.Op, selection.Impl = ops, impls
	store, err := c.ReadStore(ctx, cmp.Or(file, db))
	if err != nil {
		return resultdiff.Side{}, err
	}
	defer store.Close()
	side, err := store.Side(ctx, name, selection)
	if errors.Is(err, results.ErrNotFound) {
		return side, Usage("%w", err)
	}
	if err != nil {
		return side, session.Fail(session.ExitBad, err)
	}
	return side, nil
}

// queriesFolder returns the folder of the user's own queries.
func (c *Console) queriesFolder() (string, error) {
	data, err := c.DataDir()
	return filepath.Join(data, "queries"), err
}

// SavedQueries lists the queries that come with triad and those that the user saved.
func (c *Console) SavedQueries() ([]results.Named, error) {
	folder, err := c.queriesFolder()
	if err != nil {
		return nil, err
	}
	all, err := results.KnownQueries(folder, time.Now())
	if err != nil {
		return nil, session.Fail(session.ExitBad, err)
	}
	return all, nil
}

// SaveQuery keeps a statement under a name, and says how to run it.
func (c *Console) SaveQuery(name, statement string, params map[string]any) error {
	folder, err := c.queriesFolder()
	if err != nil {
		return err
	}
	if err := results.SaveQuery(folder, name, statement, params); err != nil {
		return Usage("%w", err)
	}
	fmt.Fprintf(c.Err, "triad: saved: triad results query --saved %s runs it\n", name)
	return nil
}
