package run

import (
	"testing"

	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/truth"
)

// BenchmarkLargest measures the choice of what is timed after a comparison of every operator, with six
// records a case.
func BenchmarkLargest(b *testing.B) {
	var planned []work
	result := &Result{}
	for _, o := range truth.All() {
		plan, err := o.Spec.Expand(op.Options{Level: op.LevelQuick})
		if err != nil {
			b.Fatal(err)
		}
		for _, c := range plan.Cases {
			planned = append(planned, work{operator: o, Case: c})
			for range 6 {
				result.Records = append(result.Records,
					record.Record{Case: c, Device: "gpu", Status: op.StatusPass})
			}
		}
	}
	b.ReportMetric(float64(len(planned)), "cases")
	for b.Loop() {
		x := &execution{Runner: &Runner{}, result: result}
		if len(x.largest(planned)) == 0 {
			b.Fatal("nothing is timed")
		}
	}
}
