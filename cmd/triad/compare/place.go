package compare

import (
	"context"
	"fmt"
	"slices"
	"time"

	"triad/internal/backend"
	"triad/internal/ladder"
	"triad/internal/op"
	"triad/internal/ownkernels"
	"triad/internal/record"
	"triad/internal/report"
	"triad/internal/run"
	"triad/internal/runsetup"
	"triad/internal/watched"
)

// place holds the counts of a right kernel of the user's, and the ladder of its operator.
type place struct {
	impl    string
	pass    op.Pass
	ladder  ladder.Ladder
	traffic ladder.Traffic
}

// places counts one case of each pass of the added CUDA files that are right in the emulator. A kernel that
// cannot be counted has no place.
func (a *Verb) places(ctx context.Context, mine *runsetup.OwnFiles, request run.Request,
	records []record.Record, asked bool,
) []place {
	if !asked || mine == nil || len(request.Operators) != 1 || request.Operators[0].Reference != nil {
		return nil
	}
	calls := watched.NewCalls(a.ProgramBuilder, watched.Limits{
		Run: 5 * time.Second, Stall: 5 * time.Second, All: 5 * time.Second, Counts: true,
		CountsAlone: true,
	})
	var all []place
	for _, f := range mine.Files {
		job := backend.Job{Implementation: backend.Implementation{Name: f.Name}}
		if f.IsPython() || watched.CUDAFileOf(mine, job) == "" {
			continue
		}
		for _, pass := range request.Operators[0].Spec.Passes() {
			l, counted := ladder.Of(request.Operators[0].Spec.Name, pass.String())
			base := rightOf(records, f.Name, pass, l.DType)
			if !counted || base == nil || ctx.Err() != nil {
				continue
			}
			request.Impls = []string{f.Name}
			t, ok := countCall(ctx, mine, calls, request, l, *base)
			if ok {
				all = append(all, place{f.Name, pass, l, t})
			}
		}
	}
	return all
}

// rightOf returns a record of a pass that is right in the emulator; nil if there is none, or if another is
// wrong.
func rightOf(records []record.Record, impl string, pass op.Pass, dtype string) *record.Record {
	var right *record.Record
	for i, r := range records {
		switch {
		case r.Impl != impl || r.Case.Pass != pass:
		case r.Status.Weight() == op.Bad, r.Device != "emulator":
			return nil
		case r.Status.Weight() == op.Good && r.Case.DType == dtype && right == nil:
			right = &records[i]
		}
	}
	return right
}

// countCall runs the counted case of a ladder in one schedule order.
func countCall(ctx context.Context, b backend.Backend, calls *watched.Calls, request run.Request,
	l ladder.Ladder, base record.Record,
) (ladder.Traffic, bool) {
	counted := watched.NewBackend(b, calls)
	counted.Orders = []string{"forward"}
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
	if _, err := runsetup.Unrecorded(ctx, ctx, counted, request, false); err != nil || counted.Ran == 0 {
		return ladder.Traffic{}, false
	}
	t := watched.Traffic(counted.Found.Counts)
	return t, l.Whole(t)
}

// placesOnGPU returns, for each case on which an added file was timed, a line with its place by its time.
func placesOnGPU(request run.Request, records []record.Record) []string {
	if len(request.Operators) != 1 {
		return nil
	}
	var lines []string
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
			lines = append(lines, fmt.Sprintf("%s %s %s: %s.", mine.Impl, mine.Case.Pass,
				mine.Case.DType, words))
		}
	}
	return lines
}

// tellPlaces prints the place of each kernel in a line, by counts and by times; with --verbose the counts of
// all rungs too.
func (a *Verb) tellPlaces(counted []place, timed []string, o *runsetup.Options) error {
	for _, line := range timed {
		fmt.Fprintln(a.Out, line)
	}
	for _, p := range counted {
		fmt.Fprintf(a.Out, "%s %s: %s.\n", p.impl, p.pass, p.ladder.Place(p.traffic))
		if !o.Verbose && !o.Explain {
			continue
		}
		rows := p.ladder.Rows(p.impl, p.traffic)
		err := report.Counted(a.Out, a.Style(), slices.Clone(ladder.Header), rows, p.ladder.Case())
		if err != nil {
			return err
		}
	}
	return nil
}
