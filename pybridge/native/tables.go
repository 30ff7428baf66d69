package native

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/report"
)

// stored is the JSON of a record, as docs/json.md describes it: the fields that tables show.
type stored struct {
	ID           string                   `json:"id"`
	Session      string                   `json:"session"`
	Op           string                   `json:"op"`
	Pass         op.Pass                  `json:"pass"`
	DType        string                   `json:"dtype"`
	Dims         record.Members[int64]    `json:"dims"`
	Attributes   record.Members[string]   `json:"attributes"`
	Layout       string                   `json:"layout"`
	Distribution string                   `json:"distribution"`
	Upstream     string                   `json:"upstream"`
	Saved        string                   `json:"saved"`
	Seed         uint64                   `json:"seed"`
	Impl         string                   `json:"impl"`
	Backend      string                   `json:"backend"`
	Variant      string                   `json:"variant"`
	Device       string                   `json:"device"`
	Status       op.Status                `json:"status"`
	Contract     string                   `json:"contract"`
	Message      string                   `json:"message"`
	Outputs      []record.Verdict         `json:"outputs"`
	Where        *record.Where            `json:"where"`
	DTypes       record.Members[op.DType] `json:"dtypes"`
	Started      string                   `json:"started"`
	WallNS       int64                    `json:"harness_wall_ns"`
	Timing       *record.Timing           `json:"timing"`
	Timings      []record.Timing          `json:"timings"`
	Explained    []record.Explanation     `json:"explained"`
}

func (s stored) record() record.Record {
	started, _ := time.Parse(record.TimeFormat, s.Started) // empty if it is not known
	c := op.Case{
		Op: s.Op, Pass: s.Pass, DType: s.DType, Layout: s.Layout, Distribution: s.Distribution,
		Upstream: s.Upstream, Saved: s.Saved,
	}
	for _, d := range s.Dims {
		c.Dims = append(c.Dims, op.Dim{Name: d.Name, Value: d.Value})
	}
	for _, a := range s.Attributes {
		c.Attrs = append(c.Attrs, op.Attr{Name: a.Name, Text: a.Value})
	}
	var times []record.Timing
	if s.Timing != nil {
		times = append([]record.Timing{*s.Timing}, s.Timings...)
	}
	return record.Record{
		Timings: times,
		ID:      s.ID, Session: s.Session, Case: c, DTypes: s.DTypes, Seed: s.Seed, Impl: s.Impl,
		Backend: s.Backend, Variant: s.Variant,
		Device: s.Device, Status: s.Status, Contract: s.Contract, Message: s.Message, Outputs: s.Outputs,
		Where: s.Where, Started: started, Wall: time.Duration(s.WallNS),
		Explained: s.Explained,
	}
}

// readRecords reads records, one JSON object a line.
func readRecords(lines string) ([]record.Record, error) {
	var records []record.Record
	for i, line := range strings.Split(strings.TrimSpace(lines), "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		var s stored
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			return nil, usagef("read record %d: %v", i+1, err)
		}
		records = append(records, s.record())
	}
	return records, nil
}

// readDifferences reads differences, one JSON object a line.
func readDifferences(lines string) ([]record.Difference, error) {
	var differences []record.Difference
	for i, line := range strings.Split(strings.TrimSpace(lines), "\n") {
		if line == "" {
			continue
		}
		var d record.Difference
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			return nil, usagef("read difference %d: %v", i+1, err)
		}
		differences = append(differences, d)
	}
	return differences, nil
}

// CompareTable prints records and differences, one JSON object a line, as `triad compare` does. It takes
// triad's exit code with its reason, and the path of the database with the records.
func CompareTable(lines, differences string, exit int, reason, database string) (text string, err error) {
	defer guard("CompareTable", &err)()
	enter("CompareTable")
	records, err := readRecords(lines)
	if err != nil {
		return "", err
	}
	apart, err := readDifferences(differences)
	if err != nil {
		return "", err
	}
	s := report.Summary{Exit: exit, Reason: reason, Database: database, Details: true}
	if len(records) > 0 {
		s.Session, s.Seed = records[0].Session, records[0].Seed
	}
	var out strings.Builder
	if err := report.Compare(&out, report.Style{}, records, apart, s); err != nil {
		return "", fmt.Errorf("print %d records: %w", len(records), err)
	}
	return out.String(), nil
}

// Explain prints the explanations in records of a run with --explain, as `triad compare --explain` does
// before its table; nothing for records of other runs.
func Explain(lines string) (text string, err error) {
	defer guard("Explain", &err)()
	enter("Explain")
	records, err := readRecords(lines)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	if err := report.Explain(&out, report.Style{}, records); err != nil {
		return "", fmt.Errorf("explain %d records: %w", len(records), err)
	}
	return out.String(), nil
}

// ListTable prints records, one JSON object a line, as `triad results list` does.
func ListTable(lines string) (text string, err error) {
	defer guard("ListTable", &err)()
	enter("ListTable")
	records, err := readRecords(lines)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	if err := report.List(&out, report.Style{}, records, len(records)); err != nil {
		return "", fmt.Errorf("print %d records: %w", len(records), err)
	}
	return out.String(), nil
}
