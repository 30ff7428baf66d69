package export

import (
	"io"
	"strings"

	"golang.org/x/perf/benchfmt"

	"triad/internal/record"
	"triad/internal/stats"
)

// Benchmarks writes times as the text of Go's benchmarks, one line for each round, so that benchstat compares
// two such files. The name of a benchmark is its operator, then what distinguishes cases as key=value. Times
// that cannot be used are left out. It returns the number of lines written.
func Benchmarks(w io.Writer, session record.Session, records []record.Record) (lines int, err error) {
	out := benchfmt.NewWriter(w)
	config := []benchfmt.Config{
		{Key: "triad", Value: []byte(session.Version), File: true},
		{Key: "gpu", Value: []byte(session.Machine.GPU), File: true},
		{Key: "driver", Value: []byte(session.Machine.GPUDriver), File: true},
		{Key: "session", Value: []byte(session.ID), File: true},
	}
	if session.Commit != "" {
		config = append(config, benchfmt.Config{Key: "commit", Value: []byte(session.Commit), File: true})
	}
	for _, r := range records {
		for _, t := range r.Timings {
			if t.Status.String() != "PASS" {
				continue
			}
			for _, ns := range stats.RoundMedians(t.SamplesNS, t.Rounds) {
				err := out.Write(&benchfmt.Result{
					Config: config, Name: benchfmt.Name(benchmarkName(r, t)), Iters: max(t.Calls, 1),
					Values: []benchfmt.Value{
						{Value: ns * 1e-9, Unit: "sec/op", OrigValue: ns, OrigUnit: "ns/op"},
					},
				})
				if err != nil {
					return lines, err
				}
				lines++
			}
		}
	}
	return lines, nil
}

// benchmarkName returns the name of a timed case, with invalid letters replaced by underscores.
func benchmarkName(r record.Record, t record.Timing) string {
	words := []string{
		strings.ToUpper(
			r.Case.Op[:1],
		) + r.Case.Op[1:], "pass=" + r.Case.Pass.String(), "dtype=" + r.Case.DType,
	}
	words = append(words, strings.Fields(dims(r.Case)+" "+attributes(r.Case))...)
	words = append(words, "impl="+strings.ReplaceAll(r.Impl, "/", ":"), "regime="+t.Regime)
	for i, word := range words {
		words[i] = strings.Map(func(c rune) rune {
			if c <= ' ' || c == '/' {
				return '_'
			}
			return c
		}, word)
	}
	return strings.Join(words, "/")
}
