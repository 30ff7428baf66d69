package export

import (
	"context"
	"errors"
	"io"
	"slices"

	"triad/internal/catalog"
	"triad/internal/record"
	"triad/internal/report"
)

// Store gives what sessions measured besides their records.
type Store interface {
	Session(ctx context.Context, id string) (record.Session, error)
	Ceilings(ctx context.Context, session string) ([]record.Ceiling, error)
	Comparisons(ctx context.Context, session string) ([]record.Comparison, error)
}

// ErrNoTime and ErrNoTrace are the errors of formats that none of the records fits.
var (
	ErrNoTime = errors.New("none of these runs has a time that can be used: triad bench times what is " +
		"right, on a GPU")
	ErrNoTrace = errors.New("none of these runs makes a trace: one of a pass needs a time, which triad " +
		"bench takes on a GPU")
)

// Formats maps names to the formats that write records to a stream.
var Formats = map[string]func(context.Context, Store, io.Writer, []record.Record) error{
	"jsonl": func(_ context.Context, _ Store, w io.Writer, records []record.Record) error {
		return report.JSONLines(w, records)
	},
	"sessions": func(ctx context.Context, store Store, w io.Writer, records []record.Record) error {
		return eachSession(ctx, store, records, func(m record.Measured, _ []record.Record) error {
			return report.JSON(w, m)
		})
	},
	"md": func(ctx context.Context, store Store, w io.Writer, records []record.Record) error {
		return eachSession(ctx, store, records, func(m record.Measured, records []record.Record) error {
			timed := report.Timed{Ceilings: m.Ceilings, Comparisons: m.Comparisons}
			return report.Markdown(w, m.Session, records, timed)
		})
	},
	"csv": func(_ context.Context, _ Store, w io.Writer, records []record.Record) error {
		return CSV(w, Rows(records))
	},
	"parquet": func(_ context.Context, _ Store, w io.Writer, records []record.Record) error {
		return Parquet(w, Rows(records))
	},
	"bench": func(ctx context.Context, store Store, w io.Writer, records []record.Record) error {
		total := 0
		err := eachSession(ctx, store, records, func(m record.Measured, records []record.Record) error {
			lines, err := Benchmarks(w, m.Session, records)
			total += lines
			return err
		})
		if err == nil && total == 0 {
			return ErrNoTime
		}
		return err
	},
	"flashinfer":  exportTraces,
	"kernelbench": exportKernelBench,
}

// exportTraces writes traces of FlashInfer-Bench.
func exportTraces(
	ctx context.Context, store Store, w io.Writer, records []record.Record,
) error {
	total := 0
	err := eachSession(ctx, store, records, func(m record.Measured, records []record.Record) error {
		lines, err := Traces(w, m.Session, records, inputNames)
		total += lines
		return err
	})
	if err == nil && total == 0 {
		return ErrNoTrace
	}
	return err
}

// inputNames returns the tensors that a run reads.
func inputNames(r record.Record) []string {
	var names []string
	if o, err := catalog.Get(r.Case.Op); err == nil {
		inputs, _ := o.Spec.Tensors(r.Case.Pass)
		for _, t := range inputs {
			names = append(names, t.Name)
		}
		return names
	}
	for _, t := range r.DTypes { // of an operator in a folder
		if !slices.ContainsFunc(r.Outputs, func(v record.Verdict) bool { return v.Name == t.Name }) {
			names = append(names, t.Name)
		}
	}
	return names
}

// eachSession passes on the records of one session after the other, with what the session measured.
func eachSession(ctx context.Context, store Store, records []record.Record,
	write func(record.Measured, []record.Record) error,
) error {
	for len(records) > 0 {
		id := records[0].Session
		var mine, others []record.Record
		for _, r := range records {
			if r.Session == id {
				mine = append(mine, r)
			} else {
				others = append(others, r)
			}
		}
		var m record.Measured
		var err error
		if m.Session, err = store.Session(ctx, id); err != nil {
			return err
		}
		if m.Ceilings, err = store.Ceilings(ctx, id); err != nil {
			return err
		}
		if m.Comparisons, err = store.Comparisons(ctx, id); err != nil {
			return err
		}
		if err := write(m, mine); err != nil {
			return err
		}
		records = others
	}
	return nil
}
