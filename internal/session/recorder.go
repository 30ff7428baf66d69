package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/panics"
	"triad/internal/record"
	"triad/internal/run"
	"triad/results"
)

// recorder stores the results of a run in the database: the driver's side of run.Recorder.
type recorder struct {
	// ctx is not the run's: results are recorded even while the run is being stopped.
	ctx     context.Context
	store   *results.Store
	info    record.Session
	resume  bool
	session *results.Session
	missing map[itemKey]bool        // what a resumed session still lacks
	items   map[itemKey]record.Item // the item of each of these when the session was resumed
	before  []record.Record         // the records of a resumed session, oldest first
}

type itemKey struct {
	key, impl string
	seed      uint64
}

func keyOf(i record.Item) itemKey { return itemKey{i.Case.Key(), i.Impl, i.Seed} }

// Plan starts the session, or takes over the one that is resumed.
func (r *recorder) Plan(items []record.Item, versions record.Toolchain) error {
	if r.resume {
		return r.samePlan(items)
	}
	for name, version := range versions {
		r.info.Toolchain[name] = version
	}
	var err error
	r.session, err = r.store.Start(r.ctx, r.info, items)
	return err
}

// samePlan returns an error that says what changed since the interruption, if anything did: half of a session
// of other sources or other cases proves neither.
func (r *recorder) samePlan(items []record.Item) error {
	type implementation struct {
		op   string
		pass op.Pass
		impl string
	}
	recorded, sources := map[itemKey]bool{}, map[implementation]string{}
	for _, b := range r.before {
		recorded[itemKey{b.Case.Key(), b.Impl, b.Seed}] = true
		if b.Source != "" {
			sources[implementation{b.Case.Op, b.Case.Pass, b.Impl}] = b.Source
		}
	}
	standIns := r.standIns()
	planned := map[itemKey]bool{}
	var added []record.Item
	for _, i := range items {
		k := keyOf(i)
		planned[k] = true
		family, _, named := strings.Cut(i.Impl, "/")
		if !r.missing[k] && !recorded[k] && named && standIns[family+" of "+i.Case.Op] {
			added = append(added, i)
			continue
		}
		if !r.missing[k] && !recorded[k] {
			if !strings.Contains(i.Impl, "/") { // it stands for a family that could not be loaded
				return &op.UsageError{Message: fmt.Sprintf("--resume: the %s implementations of %s could "+
					"not be loaded now, and the interrupted run had them; try again with --resume, or run "+
					"it without --resume to see why", i.Impl, i.Case.Op)}
			}
			return &op.UsageError{Message: fmt.Sprintf("--resume: %s of %s was not in the plan of the "+
				"interrupted run: the cases or the "+
				"implementations changed since; run it without --resume",
				i.Impl, i.Case.Op)}
		}
		if before := sources[implementation{i.Case.Op, i.Case.Pass, i.Impl}]; before != "" &&
			i.Source != "" && before != i.Source {
			return &op.UsageError{Message: fmt.Sprintf("--resume: the sources or flags of %s %s changed "+
				"since the interrupted run (%s then, %s now); run it without --resume",
				i.Case.Op, i.Impl, before, i.Source)}
		}
	}
	return r.replan(added, planned)
}

// standIns returns the families that stand in the plan for what this machine kept from loading.
func (r *recorder) standIns() map[string]bool {
	all := map[string]bool{}
	for k := range r.missing {
		if i := r.items[k]; !strings.Contains(i.Impl, "/") {
			all[i.Impl+" of "+i.Case.Op] = true
		}
	}
	return all
}

// replan replaces stand-ins by the implementations that are known now.
func (r *recorder) replan(added []record.Item, planned map[itemKey]bool) error {
	if len(added) == 0 {
		return nil
	}
	var gone []record.Item
	for k, i := range r.items {
		if r.missing[k] && !planned[k] && !strings.Contains(i.Impl, "/") {
			gone = append(gone, i)
			delete(r.missing, k)
		}
	}
	for _, i := range added {
		r.missing[keyOf(i)] = true
	}
	return r.session.Replan(r.ctx, gone, added)
}

// takeOver finds the interrupted session of the same request, and takes over its seed.
func (r *recorder) takeOver() error {
	session, missing, err := r.store.Resume(r.ctx, r.info.Request)
	if err != nil {
		return err
	}
	r.session, r.missing, r.items = session, map[itemKey]bool{}, map[itemKey]record.Item{}
	for _, item := range missing {
		r.missing[keyOf(item)], r.items[keyOf(item)] = true, item
	}
	r.before, _, err = r.store.List(r.ctx, results.Filter{Session: session.ID(), Limit: -1})
	r.before = slices.DeleteFunc(r.before,
		func(x record.Record) bool {
			return x.Status == op.StatusUnknown ||
				x.Status == op.StatusInterrupted
		})
	slices.Reverse(r.before)
	return err
}

// Done reports whether a resumed session has recorded an item already.
func (r *recorder) Done(item record.Item) bool { return r.resume && !r.missing[keyOf(item)] }

// Append stores one result in a transaction of its own.
func (r *recorder) Append(rec *record.Record) error {
	err := r.session.Record(r.ctx, rec)
	if errors.Is(err, results.ErrAlreadyRecorded) {
		return nil
	}
	return err
}

// AppendDifferences stores how far implementations lie apart.
func (r *recorder) AppendDifferences(d []record.Difference) error {
	return r.session.AddDifferences(r.ctx, d)
}

// complete adds to a result what its session had recorded before it was resumed.
func (r *recorder) complete(result *run.Result) error {
	before := slices.DeleteFunc(slices.Clone(r.before), func(b record.Record) bool {
		return slices.ContainsFunc(result.Records, func(x record.Record) bool { return x.ID == b.ID })
	})
	result.Records = append(before, result.Records...)
	var err error
	result.Comparisons, err = r.store.Comparisons(r.ctx, r.session.ID())
	return err
}

// finish ends the session, if there is one. An internal error in why is recorded with it.
func (r *recorder) finish(complete bool, code ExitCode, why error) error {
	if r.session == nil {
		return nil
	}
	var err error
	if fault := panics.In(why); fault != nil {
		err = r.session.Break(r.ctx, int(ExitNothing), fault.WithStack())
	} else {
		err = r.session.Finish(r.ctx, complete, int(code))
	}
	if err != nil {
		return fmt.Errorf("end the session: %w", err)
	}
	return nil
}

// AppendTiming stores the times of a run's calls.
func (r *recorder) AppendTiming(id string, t record.Timing) error {
	return r.session.AddTiming(r.ctx, id, t)
}

// AppendCeilings stores the measured peaks of the device.
func (r *recorder) AppendCeilings(ceilings []record.Ceiling) error {
	return r.session.AddCeilings(r.ctx, ceilings)
}

// AppendComparisons stores the ratios of what was timed in the same rounds.
func (r *recorder) AppendComparisons(all []record.Comparison) error {
	return r.session.AddComparisons(r.ctx, all)
}

// Diagnose records the diagnosis of a wrong run of the session.
func (s *Session) Diagnose(run string, d record.Diagnosis) error {
	return s.kept.session.AddDiagnosis(s.kept.ctx, run, d)
}
