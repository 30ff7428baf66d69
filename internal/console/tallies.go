package console

import (
	"context"
	"errors"
	"io/fs"

	"triad/internal/record"
	"triad/internal/session"
	"triad/results"
)

// Tallies reads what the database has of users' files. open opens the database that db names for reading;
// there is false if db names none, and the user's own does not exist yet.
func Tallies(ctx context.Context, open func(ctx context.Context, db string) (*results.Store, error),
	db string,
) (all []record.Tally, there bool, err error) {
	store, err := open(ctx, db)
	if errors.Is(err, fs.ErrNotExist) && db == "" {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	defer store.Close()
	if all, err = store.Tallies(ctx, results.Filter{Impl: []string{"mine/"}}); err != nil {
		return nil, false, session.Fail(session.ExitBad, err)
	}
	return all, true, nil
}
