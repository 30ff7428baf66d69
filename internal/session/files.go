package session

import (
	"context"
	"errors"

	"triad/internal/record"
	"triad/results"
)

// Files is a session that judges many files, each for itself. Nothing is planned: what is found of a file is
// stored in one transaction when its last case is judged, so that a file is there whole or not at all. Its
// methods may be called from several goroutines.
type Files struct {
	ctx     context.Context
	store   *results.Store
	session *results.Session
}

// OpenFiles begins a session, or takes over the newest interrupted one of the same info.Request.
func OpenFiles(ctx context.Context, store *results.Store, info record.Session, resume bool) (*Files, error) {
	f := &Files{
		ctx:   context.WithoutCancel(ctx),
		store: store,
	} // what was found is recorded while a run is stopped
	var err error
	if resume {
		if f.session, _, err = store.Resume(ctx, info.Request); err != nil {
			return nil, ResumeFailure(err)
		}
		return f, nil
	}
	f.session, err = store.Start(ctx, info, nil)
	return f, err
}

// FilesOf is a session that others record files in.
func FilesOf(ctx context.Context, store *results.Store, s *results.Session) *Files {
	return &Files{ctx: context.WithoutCancel(ctx), store: store, session: s}
}

// ID is the name of the session in the database, Seed that of its inputs.
func (f *Files) ID() string { return f.session.ID() }

// Seed is the seed of the session's inputs.
func (f *Files) Seed() uint64 { return f.session.Info().Seed }

// Added are the words of the files that the session judges.
func (f *Files) Added() []string { return f.session.Info().Added }

// Record stores what was found of one file, and fills in the IDs.
func (f *Files) Record(records []*record.Record) error { return f.session.Record(f.ctx, records...) }

// Outcomes calls each with what is recorded, a run each, in the order in which it was.
func (f *Files) Outcomes(each func(results.Outcome)) error {
	return f.store.Outcomes(f.ctx, f.session.ID(), each)
}

// Runs gives the records of some runs, by their IDs.
func (f *Files) Runs(ids []string) (records []record.Record, err error) {
	for _, id := range ids {
		run, shown := f.store.Show(f.ctx, id)
		records, err = append(records, run.Record), errors.Join(err, shown)
	}
	return records, err
}

// Finish ends the session; complete says that every file was judged.
func (f *Files) Finish(complete bool, code ExitCode, why error) error {
	kept := &recorder{ctx: f.ctx, store: f.store, session: f.session}
	return kept.finish(complete, code, why)
}
