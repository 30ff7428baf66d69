package compare

import (
	"context"
	"errors"
	"slices"

	"triad/internal/console"
	"triad/internal/resultdiff"
	"triad/internal/run"
	"triad/internal/runsetup"
	"triad/internal/session"
	"triad/results"
)

// readAgainst reads the side that a comparison is to be compared with, before it records anything itself.
func (a *Verb) readAgainst(
	ctx context.Context,
	request run.Request,
	o *runsetup.Options,
) (resultdiff.Side, error) {
	if o.Against == "" {
		return resultdiff.Side{}, nil
	}
	var names []string
	for _, operator := range request.Operators {
		names = append(names, operator.Spec.Name)
	}
	return a.ReadSide(ctx, o.DB, o.Against, names, nil)
}

// printSince prints what changed from a side to the session that has just ended, for what the session ran. If
// something became wrong or slower, it ends with that exit code.
func (a *Verb) printSince(ctx context.Context, before resultdiff.Side, s *session.Session,
	o *runsetup.Options, end *session.Ending,
) error {
	if o.Against == "" || !s.Recorded() {
		return nil
	}
	store, err := a.ReadStore(ctx, o.DB)
	if err != nil {
		return err
	}
	defer store.Close()
	now, err := store.Side(ctx, "this session", results.Selection{Session: s.ID()})
	if errors.Is(err, results.ErrNotFound) {
		return nil // it was stopped before anything ended
	}
	if err != nil {
		return session.Fail(session.ExitBad, err)
	}
	changes := resultdiff.Diff(before, now, resultdiff.Options{})
	changes = slices.DeleteFunc(changes, func(c resultdiff.Change) bool { return c.B == nil })
	if err := a.PrintChanges(before, now, changes, console.LinesOfADiff, o.JSON); err != nil {
		return err
	}
	if resultdiff.Counted(changes).Regressed(false) {
		end.Code = session.ExitBad
	}
	return nil
}
