// Package standing finds where a user's right kernel stands on its operator's ladder: it counts the kernel in
// the emulator on the ladder's case, or takes its time on a GPU, and puts it beside triad's variants.
package standing

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"triad/internal/backend"
	"triad/internal/check"
	"triad/internal/ladder"
	"triad/internal/machine"
	"triad/internal/op"
	"triad/internal/ownkernels"
	"triad/internal/participants"
	"triad/internal/record"
	"triad/internal/report"
	"triad/internal/run"
	"triad/internal/watched"
)

// Place holds the counts of a right kernel of the user's, and the ladder of its operator.
type Place struct {
	Impl    string
	Pass    op.Pass
	ladder  ladder.Ladder
	traffic ladder.Traffic
	counts  []check.Counts
	file    *ownkernels.File
	counted run.Request // of a Python file
	Python  bool        // of its traffic only the bytes are known, none if it launches no kernel of Triton
}

// Places returns the places of the added files that are right in the emulator, by one case of each pass. A
// kernel that cannot be counted has none.
func Places(ctx context.Context, w *machine.Workers, mine *participants.OwnFiles, request run.Request,
	records []record.Record,
) []Place {
	if mine == nil || len(request.Operators) != 1 || request.Operators[0].Reference != nil {
		return nil
	}
	calls := watched.NewCalls(w.ProgramBuilder, watched.Limits{
		Run: 5 * time.Second, Stall: 5 * time.Second, All: 5 * time.Second, Counts: true,
		CountsAlone: true,
	})
	spec := request.Operators[0].Spec
	var all []Place
	for _, f := range mine.Files {
		job := backend.Job{Implementation: backend.Implementation{Name: f.Name}}
		for _, pass := range spec.Passes() {
			l, known := ladder.Of(spec.Name, pass.String())
			base := rightOf(records, f.Name, pass, l.DType)
			if !known || base == nil || ctx.Err() != nil {
				continue
			}
			p := Place{Impl: f.Name, Pass: pass, ladder: l, file: f}
			request.Impls = []string{f.Name}
			if p.Python = f.IsPython(); p.Python {
				p.counted = bytesRequest(request, l, *base)
				var called bool
				if p.traffic, called = movedBy(ctx, mine, p.counted)[f.Name]; !called {
					continue
				}
				if 10*p.traffic.ReadBytes < 9*l.InputBytes { // other operations read the rest
					p.traffic = ladder.Traffic{}
				}
				all = append(all, p)
				continue
			}
			if watched.CUDAFileOf(mine, job) == "" || base.Device != emulator {
				continue
			}
			var counted bool
			if p.traffic, p.counts, counted = Count(ctx, mine, calls, request, l, *base); counted {
				all = append(all, p)
			}
		}
	}
	return all
}

const emulator = "emulator"

// rightOf returns a record of a pass that is right without a GPU; nil if there is none, or if another is
// wrong.
func rightOf(records []record.Record, impl string, pass op.Pass, dtype string) *record.Record {
	var right *record.Record
	for i, r := range records {
		switch {
		case r.Impl != impl || r.Case.Pass != pass:
		case r.Status.Weight() == op.Bad, r.Device == "gpu":
			return nil
		case r.Status.Weight() == op.Good && r.Case.DType == dtype && right == nil:
			right = &records[i]
		}
	}
	return right
}

// Count runs the counted case of a ladder in one schedule order.
func Count(ctx context.Context, b backend.Backend, calls *watched.Calls, request run.Request,
	l ladder.Ladder, base record.Record,
) (t ladder.Traffic, counts []check.Counts, counted bool) {
	watching := watched.NewBackend(b, calls)
	watching.Orders, watching.Largest = []string{"forward"}, true
	request = theCase(request, l, base)
	if _, err := run.Unrecorded(ctx, ctx, watching, request, false); err != nil || watching.Ran == 0 {
		return t, nil, false
	}
	counts = watching.Found.Counts
	t = watched.Traffic(counts)
	return t, counts, l.Whole(t)
}

// theCase returns the request of the counted case of a ladder.
func theCase(request run.Request, l ladder.Ladder, base record.Record) run.Request {
	request.Single, request.Explain, request.Gradients, request.Timing = true, false, false, nil
	options := op.Options{
		Level: op.LevelFull, DTypes: []string{l.DType}, Passes: []op.Pass{base.Case.Pass}, Dims: l.Dims,
		Attributes: l.Attributes, Distributions: []string{"normal"}, Layouts: []string{"contiguous"},
		Device: request.Options.Device, Memory: request.Options.Memory,
	}
	if base.Case.Pass == op.Backward {
		options.Upstreams = []string{"normal"}
	}
	if base.Case.Saved != "" {
		options.Saved = []string{"driver"}
	}
	request.Options = options
	return request
}

// Known reports whether anything was counted.
func (p Place) Known() bool { return p.traffic.ReadBytes > 0 }

// Line describes the place of the kernel on the ladder.
func (p Place) Line() string {
	switch {
	case p.Python && p.Known():
		return p.ladder.PlaceOfBytes(p.traffic)
	case p.Python:
		return "no place on the ladder: without a GPU only what kernels of CUDA and Triton move is " +
			"counted, and those here do not read all inputs"
	}
	return p.ladder.Place(p.traffic)
}

// PrintTimed prints, for each case on which an added file was timed, a line with its place by its time.
func PrintTimed(out io.Writer, request run.Request, records []record.Record) {
	if len(request.Operators) != 1 {
		return
	}
	for _, mine := range records {
		t := ladder.ColdTime(mine)
		if mine.Backend != ownkernels.Family || t == nil {
			continue
		}
		var others []ladder.Other
		for _, r := range records {
			o := ladder.ColdTime(r)
			if o != nil && r.Backend != ownkernels.Family && r.Case.Key() == mine.Case.Key() {
				others = append(others, ladder.Other{Impl: r.Impl, MedianNS: float64(o.MedianNS)})
			}
		}
		roofline := 0.0
		if t.Roofline != nil {
			roofline = float64(*t.Roofline)
		}
		l, _ := ladder.Of(request.Operators[0].Spec.Name, mine.Case.Pass.String())
		if words := l.OnGPU(float64(t.MedianNS), roofline, others); words != "" {
			fmt.Fprintf(out, "%s %s %s: %s.\n", mine.Impl, mine.Case.Pass, mine.Case.DType, words)
		}
	}
}

// Print prints the place of each kernel in a line; with all, the counts of all variants and what the kernel
// needs of a multiprocessor too.
func Print(ctx context.Context, w *machine.Workers, places []Place, all bool) error {
	for _, p := range places {
		fmt.Fprintf(w.Out, "%s %s: %s.\n", p.Impl, p.Pass, p.Line())
		if all && p.Python && p.Known() {
			p.printRows(ctx, w)
		}
		if !all || p.Python {
			continue
		}
		if err := printCounts(w.Out, w.Style(), p); err != nil {
			return err
		}
		for _, line := range p.needs(ctx, w) {
			fmt.Fprintln(w.Out, line)
		}
	}
	return nil
}

func printCounts(out io.Writer, style report.Style, p Place) error {
	return report.Counted(out, style, slices.Clone(ladder.Header), p.ladder.Rows(p.Impl, p.traffic),
		p.ladder.Case())
}
