package run

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/record"
)

// mostConfigurations bounds how many configurations of an autotuned kernel are judged.
const mostConfigurations = 16

// configuredCases is on how many cases of an operator, pass and dtype they are judged.
const configuredCases = 3

// markConfigured chooses the cases of each operator, pass and dtype on which every configuration of an
// autotuned kernel is judged: ordinary data of moderate sizes.
func markConfigured(planned []work) error {
	type candidate struct {
		at   int
		rank int64
	}
	found := map[string][]candidate{}
	for i, w := range planned {
		if w.Layout != "contiguous" || w.Upstream != "" && w.Upstream != "normal" {
			continue
		}
		elements, _, err := w.operator.Spec.Footprint(w.Case)
		if err != nil {
			return err
		}
		rank := moderate(elements, w.Case)
		if w.Distribution != "normal" {
			rank -= 1 << 40
		}
		key := fmt.Sprint(w.Op, " ", w.Pass, " ", w.DType)
		found[key] = append(found[key], candidate{i, rank})
	}
	for _, candidates := range found {
		slices.SortStableFunc(candidates, func(a, b candidate) int { return cmp.Compare(b.rank, a.rank) })
		for _, c := range candidates[:min(len(candidates), configuredCases)] {
			planned[c.at].configured = true
		}
	}
	return nil
}

// eachConfiguration judges what an autotuned kernel gives in each of its configurations but the first, which
// was judged: on a GPU any of them may be the fastest. found becomes what explains what is wrong then.
func (x *execution) eachConfiguration(ctx context.Context, c *prepared, e entry, outcome backend.Outcome,
	r *record.Record, found *[]op.Finding,
) error {
	names := outcome.Configurations
	if !c.configured || len(names) < 2 || r.Status.Weight() == op.Bad || len(r.Outputs) == 0 {
		return nil
	}
	for n := 1; n < min(len(names), mostConfigurations); n++ {
		job, err := x.job(ctx, c, e)
		if err != nil {
			return err
		}
		for i := range job.Launches {
			job.Launches[i].Order = fmt.Sprint(backend.OrderConfiguration, n)
		}
		other, err := x.attempt(ctx, e, job)
		if err != nil {
			return err
		}
		alone := newRecord(c, e, r.Seed, r.Started)
		explained := x.ruleOnLaunches(c, e, other, &alone, len(job.Launches))
		if alone.Status.Weight() != op.Bad && other.Status == op.StatusUnknown {
			continue
		}
		*found = explained
		r.Status, r.Outputs, r.Where, r.LogTail = alone.Status, alone.Outputs, alone.Where, alone.LogTail
		r.Explained = alone.Explained
		where := fmt.Sprintf("; so it is where autotune takes its configuration %d of %d, %s", n+1,
			len(names), names[n])
		r.Message = alone.Message + where
		for i := range r.Outputs {
			if r.Outputs[i].Status.Weight() == op.Bad {
				r.Outputs[i].Message += where
			}
		}
		return nil
	}
	return nil
}
