// Package pagestest is for tests only: it makes a database of published sessions, as they were recorded on a
// GPU.
package pagestest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"triad/internal/op"
	"triad/internal/record"
	"triad/results"
)

// published is the object of a record, as compare --json writes it.
type published struct {
	ID           string                   `json:"id"`
	Op           string                   `json:"op"`
	Pass         op.Pass                  `json:"pass"`
	DType        string                   `json:"dtype"`
	DTypes       record.Members[op.DType] `json:"dtypes"`
	Dims         record.Members[int64]    `json:"dims"`
	Attributes   record.Members[string]   `json:"attributes"`
	Layout       string                   `json:"layout"`
	Distribution string                   `json:"distribution"`
	Upstream     *string                  `json:"upstream"`
	Saved        *string                  `json:"saved"`
	CaseKey      string                   `json:"case"`
	Seed         uint64                   `json:"seed"`
	Impl         string                   `json:"impl"`
	Backend      string                   `json:"backend"`
	Variant      string                   `json:"variant"`
	Device       string                   `json:"device"`
	GPU          string                   `json:"gpu"`
	Source       string                   `json:"source"`
	Flags        string                   `json:"flags"`
	Status       op.Status                `json:"status"`
	Contract     string                   `json:"contract"`
	Message      string                   `json:"message"`
	Outputs      []record.Verdict         `json:"outputs"`
	Where        *record.Where            `json:"where"`
	LogTail      string                   `json:"log_tail"`
	Build        *record.Build            `json:"build"`
	Launches     int                      `json:"launches"`
	Started      time.Time                `json:"started"`
	WallNS       int64                    `json:"harness_wall_ns"`
	PeakBytes    int64                    `json:"peak_memory_bytes"`
	Timing       *record.Timing           `json:"timing"`
	Timings      []record.Timing          `json:"timings"`
}

// measured is the object of a session.
type measured struct {
	Command     []string            `json:"command"`
	Version     string              `json:"version"`
	Level       string              `json:"level"`
	Seed        uint64              `json:"seed"`
	Machine     record.Machine      `json:"machine"`
	Toolchain   record.Toolchain    `json:"toolchain"`
	Exit        int                 `json:"exit"`
	Ceilings    []record.Ceiling    `json:"rulers"`
	Comparisons []record.Comparison `json:"comparisons"`
}

// Database returns the file of a database with all published sessions of a folder.
func Database(t testing.TB, folder string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "published.db")
	if err := Write(path, folder); err != nil {
		t.Fatal(err)
	}
	return path
}

// Write adds the published sessions of a folder to a database.
func Write(path, folder string) (err error) {
	ctx := context.Background()
	store, err := results.Open(ctx, path, results.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	steps, err := filepath.Glob(filepath.Join(folder, "*.sessions.jsonl"))
	if err != nil || len(steps) == 0 {
		return fmt.Errorf("no session is published in %s: %w", folder, err)
	}
	for _, step := range steps {
		sessions, err := lines[measured](step)
		if err != nil {
			return err
		}
		records, err := lines[published](strings.TrimSuffix(step, ".sessions.jsonl") + ".jsonl")
		if err != nil {
			return err
		}
		if err := add(ctx, store, sessions[0], records); err != nil {
			return err
		}
	}
	return nil
}

// add records a session. Its records get new IDs, and comparisons refer to these.
func add(ctx context.Context, store *results.Store, m measured, all []published) error {
	x, err := store.Start(ctx, record.Session{
		Request: strings.Join(m.Command, " "), Command: m.Command, Version: m.Version, Level: m.Level,
		Seed: m.Seed, Machine: m.Machine, Toolchain: m.Toolchain,
	}, nil)
	if err != nil {
		return err
	}
	ids := map[string]string{}
	for _, p := range all {
		r := p.record()
		if err := x.Record(ctx, &r); err != nil {
			return err
		}
		ids[p.ID] = r.ID
		for _, t := range r.Timings {
			if err := x.AddTiming(ctx, r.ID, t); err != nil {
				return err
			}
		}
	}
	var compared []record.Comparison
	for _, c := range m.Comparisons {
		if c.RunA, c.RunB = ids[c.RunA], ids[c.RunB]; c.RunA != "" && c.RunB != "" {
			compared = append(compared, c)
		}
	}
	return errors.Join(x.AddCeilings(ctx, m.Ceilings), x.AddComparisons(ctx, compared),
		x.Finish(ctx, true, m.Exit))
}

func (p published) record() record.Record {
	r := record.Record{
		Case: op.Case{
			Op: p.Op, Pass: p.Pass, DType: p.DType, Layout: p.Layout, Distribution: p.Distribution,
		},
		DTypes: p.DTypes, Seed: p.Seed, Impl: p.Impl, Backend: p.Backend, Variant: p.Variant,
		Device: p.Device, GPU: p.GPU, Source: p.Source, Flags: p.Flags,
		Status: p.Status, Contract: p.Contract, Message: p.Message, Outputs: p.Outputs,
		Where: p.Where, LogTail: p.LogTail, Build: p.Build,
		Launches: p.Launches, Started: p.Started, Wall: time.Duration(p.WallNS), PeakBytes: p.PeakBytes,
		Timings: p.Timings,
	}
	for _, d := range p.Dims {
		r.Case.Dims = append(r.Case.Dims, op.Dim{Name: d.Name, Value: d.Value})
	}
	for _, a := range p.Attributes {
		number, err := strconv.ParseFloat(a.Value, 64)
		if err != nil && a.Value == "true" {
			number = 1
		}
		r.Case.Attrs = append(r.Case.Attrs, op.Attr{Name: a.Name, Number: number, Text: a.Value})
	}
	if p.Upstream != nil {
		r.Case.Upstream = *p.Upstream
	}
	if p.Saved != nil {
		r.Case.Saved = *p.Saved
	}
	if p.Timing != nil {
		r.Timings = append([]record.Timing{*p.Timing}, r.Timings...)
	}
	return r
}

// lines reads one object per line.
func lines[T any](path string) ([]T, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all []T
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var one T
		if err := d.Decode(&one); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
}
