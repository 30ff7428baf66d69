package session

import (
	"context"
	"errors"
	"maps"
	"sync"

	"triad/internal/record"
	"triad/results"
)

// Files is a session that judges many files independently. Nothing is planned: the results of a file are
// stored in one transaction after its last case is judged, so that a file is recorded in full or not at all.
// Its methods may be called from several goroutines.
type Files struct {
	ctx     context.Context
	store   *results.Store
	session *results.Session

	mutex    sync.Mutex
	versions record.Toolchain // of what judged the files
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

// FilesOf returns a session in which others record files.
func FilesOf(ctx context.Context, store *results.Store, s *results.Session) *Files {
	return &Files{ctx: context.WithoutCancel(ctx), store: store, session: s}
}

// ID returns the name of the session in the database.
func (f *Files) ID() string { return f.session.ID() }

// Seed returns the seed of the session's inputs.
func (f *Files) Seed() uint64 { return f.session.Info().Seed }

// Added returns the words of the files that the session judges.
func (f *Files) Added() []string { return f.session.Info().Added }

// Record stores the results of one file, and fills in the IDs.
func (f *Files) Record(records []*record.Record) error { return f.session.Record(f.ctx, records...) }

// Diagnose stores the diagnosis of a wrong run.
func (f *Files) Diagnose(run string, d record.Diagnosis) error {
	return f.session.AddDiagnosis(f.ctx, run, d)
}

// Uses notes the versions of what judged a file. They are stored when the session ends.
func (f *Files) Uses(versions record.Toolchain) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.versions == nil {
		f.versions = record.Toolchain{}
	}
	maps.Copy(f.versions, versions)
}

// Outcomes calls each with every recorded run, in the order of recording.
func (f *Files) Outcomes(each func(results.Outcome)) error {
	return f.store.Outcomes(f.ctx, f.session.ID(), each)
}

// Runs returns the records of runs by their IDs.
func (f *Files) Runs(ids []string) (records []record.Record, err error) {
	for _, id := range ids {
		run, shown := f.store.Show(f.ctx, id)
		records, err = append(records, run.Record), errors.Join(err, shown)
	}
	return records, err
}

// Finish ends the session; complete means that every file was judged.
func (f *Files) Finish(complete bool, code ExitCode, why error) error {
	kept := &recorder{ctx: f.ctx, store: f.store, session: f.session}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	var err error
	if len(f.versions) > 0 {
		err = f.session.AddVersions(f.ctx, f.versions)
	}
	return errors.Join(err, kept.finish(complete, code, why))
}
