package results

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"triad/internal/catalog"
	"triad/internal/console"
	"triad/internal/op"
	"triad/internal/session"
	"triad/pybridge"
	"triad/results"
)

// sessionUsage is the help of --session.
const sessionUsage = "only this session: its ID or the beginning of it, last, or last~1 for the one before it"

// sessionNamed returns the ID of the session that a name stands for; "" for "".
func sessionNamed(ctx context.Context, store *results.Store, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	selection, _, err := results.ParseSide(name, time.Now())
	if err != nil || selection.Session == "" && selection.Last == 0 {
		return "", console.Usage("%q is no session: want an ID that triad results sessions prints, the "+
			"beginning of one, last or last~1", name)
	}
	id, err := store.SessionID(ctx, selection)
	switch {
	case errors.Is(err, results.ErrNotFound):
		return "", console.Usage("%w", err)
	case err != nil:
		return "", session.Fail(session.ExitBad, err)
	}
	return id, nil
}

// runNamed returns the ID of the run that a name stands for: that of the newest for last, else the name.
func runNamed(ctx context.Context, store *results.Store, name string) (string, error) {
	selection, _, err := results.ParseSide(strings.ToLower(name), time.Now())
	if err != nil || selection.Last == 0 {
		return name, nil // Show says what an ID is
	}
	newest, _, err := store.List(ctx, results.Filter{Limit: selection.Last})
	if err != nil {
		return "", session.Fail(session.ExitBad, err)
	}
	if len(newest) < selection.Last {
		return "", console.Usage("show %s: %d runs are recorded", name, len(newest))
	}
	return newest[selection.Last-1].ID, nil
}

// knownNames rejects names that are neither in the catalog nor in any record: an empty list would look as if
// nothing had been run. It replaces another common name of an operator by its own.
func knownNames(ctx context.Context, store *results.Store, f *results.Filter) error {
	if len(f.Op)+len(f.DType)+len(f.Impl) == 0 {
		return nil
	}
	found, err := store.Recorded(ctx)
	if err != nil {
		return session.Fail(session.ExitBad, err)
	}
	if f.Op, err = operatorsNamed(f.Op, found.Ops); err != nil {
		return err
	}
	for i, typed := range f.DType {
		f.DType[i] = op.DTypeNamed(typed)
	}
	dtypes := found.DTypes
	for _, o := range catalog.All() {
		dtypes = append(dtypes, o.Spec.DTypes...)
	}
	families := slices.Concat([]string{"cuda", "triton", "torch", "mine"}, pybridge.PeerFamilies, found.Impls)
	is := func(name, asked string) bool { return name == asked }
	prefixed := func(name, asked string) bool {
		// any name of a family is accepted: only its sources know which there are
		return strings.HasPrefix(name, asked) || !strings.Contains(name, "/") &&
			strings.HasPrefix(asked, name+"/")
	}
	for _, part := range []struct {
		flag         string
		asked, known []string
		fits         func(name, asked string) bool
	}{
		{"dtype", f.DType, dtypes, is}, {"impl", f.Impl, families, prefixed},
	} {
		for _, asked := range part.asked {
			if !slices.ContainsFunc(part.known, func(name string) bool { return part.fits(name, asked) }) {
				slices.Sort(part.known)
				return console.Usage("--%s %q: neither triad nor a recorded run knows it: want one of %s",
					part.flag, asked, strings.Join(slices.Compact(part.known), ", "))
			}
		}
	}
	return nil
}

// operatorsNamed returns the names of operators in the spelling of the records. One that is neither recorded
// nor in the catalog is an error that says what is nearest to it.
func operatorsNamed(asked, recorded []string) ([]string, error) {
	var named []string
	for _, name := range asked {
		if slices.Contains(recorded, name) {
			named = append(named, name)
			continue
		}
		o, err := catalog.Find(name)
		if err != nil {
			if nearest := catalog.Nearest(name); nearest != "" {
				return nil, console.Usage("operator %q: neither triad nor a recorded run knows it: do "+
					"you mean %s?",
					name, nearest)
			}
			known := append(catalog.Names(), recorded...)
			slices.Sort(known)
			return nil, console.Usage("operator %q: neither triad nor a recorded run knows it: want one "+
				"of %s",
				name, strings.Join(slices.Compact(known), ", "))
		}
		named = append(named, o.Spec.Name)
	}
	return named, nil
}
