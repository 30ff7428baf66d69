package export

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"triad/internal/op"
	"triad/internal/record"
)

// ErrNoProblem is the error of records of which none is a submission to a problem of KernelBench.
var ErrNoProblem = errors.New("none of these runs is of a submission to an imported problem of " +
	"KernelBench: triad import makes one of a problem's file, and triad compare FOLDER --add FILE judges a " +
	"submission")

// errLevels is the error of problems of several levels, whose numbers KernelBench keeps in files of their
// own.
var errLevels = errors.New("these runs are of problems of several levels of KernelBench, which has a file " +
	"for each: choose one with --op")

// ofKernelBench matches the name that triad import gives to a problem of KernelBench.
var ofKernelBench = regexp.MustCompile(`^kernelbench_(?:level_?(\d+)_)?(\d+)_`)

// sample is one submission in KernelBench's file of results. Times are in milliseconds; -1 stands for none.
type sample struct {
	SampleID     int                `json:"sample_id"`
	Compiled     bool               `json:"compiled"`
	Correctness  bool               `json:"correctness"`
	Metadata     map[string]any     `json:"metadata"`
	Runtime      float64            `json:"runtime"`
	RuntimeStats map[string]float64 `json:"runtime_stats"`

	good, bad int
	bytes     int64 // of the case whose time is the runtime
}

// KernelBench writes KernelBench's file of results, eval_results.json: by the number of a problem a list of
// its submissions, each judged over all cases of a session.
func KernelBench(w io.Writer, sessions []record.Measured, records [][]record.Record) error {
	all, levels := map[int][]*sample{}, map[string]bool{}
	for i, m := range sessions {
		for _, r := range records[i] {
			found := ofKernelBench.FindStringSubmatch(r.Case.Op)
			if found == nil || !strings.HasPrefix(r.Impl, "mine/") {
				continue
			}
			levels[found[1]] = true
			number, err := strconv.Atoi(found[2])
			if err != nil {
				return fmt.Errorf("the number of the problem %s: %w", r.Case.Op, err)
			}
			s := sampleOf(all[number], m.Session, r)
			if s.SampleID == len(all[number]) {
				all[number] = append(all[number], s)
			}
			s.add(r)
		}
	}
	switch {
	case len(all) == 0:
		return ErrNoProblem
	case len(levels) > 1:
		return errLevels
	}
	for _, samples := range all {
		for _, s := range samples {
			s.Correctness = s.good > 0 && s.bad == 0
			s.Metadata["triad_cases"] = fmt.Sprintf("(%d / %d)", s.good, s.good+s.bad)
		}
	}
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "    ")
	return out.Encode(all) // maps are written in the order of their keys
}

// sampleOf returns the sample of a record's implementation in its session, a new one if there is none.
func sampleOf(samples []*sample, session record.Session, r record.Record) *sample {
	for _, s := range samples {
		if s.Metadata["triad_session"] == session.ID && s.Metadata["triad_implementation"] == r.Impl {
			return s
		}
	}
	hardware := session.Machine.CPU
	if r.Device == "gpu" {
		hardware = session.Machine.GPU
	}
	return &sample{
		SampleID: len(samples), Compiled: true, Runtime: -1, RuntimeStats: map[string]float64{},
		Metadata: map[string]any{
			"hardware": cmp.Or(hardware, "unknown"), "device": r.Device, "triad_session": session.ID,
			"triad_implementation": r.Impl, "triad_source": r.Source,
		},
	}
}

// add adds a record to its sample.
func (s *sample) add(r record.Record) {
	switch r.Status.Weight() {
	case op.Good:
		s.good++
	case op.Bad:
		if s.bad++; s.bad == 1 {
			s.Metadata["triad_status"], s.Metadata["triad_message"] = r.Status.String(), r.Message
		}
	}
	if r.Status == op.StatusBuildFail {
		s.Compiled = false
	}
	for _, t := range usable(r) {
		if t.Bytes <= s.bytes && s.Runtime >= 0 {
			continue // the problem's own sizes are the largest that are timed
		}
		s.bytes, s.Runtime = t.Bytes, meanMS(t)
		deviation := 0.0
		for _, ns := range t.SamplesNS {
			deviation += math.Pow(ns/1e6-s.Runtime, 2)
		}
		s.RuntimeStats = map[string]float64{
			"mean": s.Runtime, "std": math.Sqrt(deviation / float64(max(len(t.SamplesNS)-1, 1))),
			"min": slices.Min(t.SamplesNS) / 1e6, "max": slices.Max(t.SamplesNS) / 1e6,
			"num_trials": float64(len(t.SamplesNS)),
		}
	}
}

// exportKernelBench writes KernelBench's file of results.
func exportKernelBench(ctx context.Context, store Store, w io.Writer, records []record.Record) error {
	var sessions []record.Measured
	var parts [][]record.Record
	err := eachSession(ctx, store, records, func(m record.Measured, records []record.Record) error {
		sessions, parts = append(sessions, m), append(parts, records)
		return nil
	})
	if err != nil {
		return err
	}
	return KernelBench(w, sessions, parts)
}
