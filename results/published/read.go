package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// record holds the fields of a record that the tables need; docs/json.md describes the object.
type record struct {
	ID         string            `json:"id"`
	Session    string            `json:"session"`
	Op         string            `json:"op"`
	Pass       string            `json:"pass"`
	DType      string            `json:"dtype"`
	Dims       map[string]int64  `json:"dims"`
	Attributes map[string]string `json:"attributes"`
	Case       string            `json:"case"`
	Impl       string            `json:"impl"`
	Status     string            `json:"status"`
	Started    string            `json:"started"`
	Outputs    []output          `json:"outputs"`
	Timing     *timing           `json:"timing"`
	Timings    []timing          `json:"timings"`
}

// output is the verdict on one output; an optional output that an implementation leaves out is MISSING.
type output struct {
	Status   string `json:"status"`
	N        int64  `json:"n"`
	Compared int64  `json:"n_compared"`
}

// times returns the timings of a record, one per regime.
func (r record) times() []timing {
	if r.Timing == nil {
		return nil
	}
	return append([]timing{*r.Timing}, r.Timings...)
}

// timing holds the fields of a timing that the tables need. Times are ns per call.
type timing struct {
	Regime   string   `json:"regime"`
	Status   string   `json:"status"`
	MedianNS float64  `json:"median_ns"`
	FLOPs    float64  `json:"flops"`
	Roofline *float64 `json:"roofline"`
	ClockMHz *float64 `json:"clock_mhz"`
	Mode     string   `json:"mode"` // "events": the host's time is included
	// what a timed backward starts from; nil in records from before this was recorded
	Backward *string `json:"backward"`
}

// pair names the start of a timed backward whose forward runs within the call, and the pass under which a
// table lists it.
const pair = "forward+backward"

// session is one command with its measurements other than records.
type session struct {
	ID        string            `json:"id"`
	Command   []string          `json:"command"`
	Started   string            `json:"started"`
	Ended     *string           `json:"ended"`
	Toolchain map[string]string `json:"toolchain"`
	Machine   struct {
		CPU       string  `json:"cpu"`
		Cores     int     `json:"cores"`
		GPU       string  `json:"gpu"`
		GPUMemory float64 `json:"gpu_memory_bytes"`
		GPUDriver string  `json:"gpu_driver"`
	} `json:"machine"`
	Ceilings []struct {
		Name  string   `json:"name"`
		Bytes *float64 `json:"bytes_per_second"`
		FLOPs *float64 `json:"flops_per_second"`
	} `json:"rulers"`
	Comparisons []comparison `json:"comparisons"`
}

// comparison is the ratio of two records that were timed in the same rounds; of one record with itself it
// shows the noise.
type comparison struct {
	RunA         string    `json:"run_a"`
	RunB         string    `json:"run_b"`
	A            string    `json:"a"`
	B            string    `json:"b"`
	Regime       string    `json:"regime"`
	Ratios       []float64 `json:"ratios"`
	Ratio        float64   `json:"ratio"`
	Low          float64   `json:"ratio_low"`
	High         float64   `json:"ratio_high"`
	SpeedVerdict string    `json:"word"`
}

// published is everything that is published.
type published struct {
	records  []record
	sessions []session
	figures  map[string]json.RawMessage // by name, "same-kernel"; sanitizers are several objects, a line each
	database map[string]measuredPart    // what database.sh measured
}

// readAll reads everything below the root of the sources.
func readAll(root string) (published, error) {
	p, err := read(filepath.Join(root, data))
	if err != nil {
		return p, err
	}
	p.database, err = readDatabase(filepath.Join(root, databaseData))
	return p, err
}

// read reads the contents of a folder.
func read(folder string) (published, error) {
	p := published{figures: map[string]json.RawMessage{}}
	paths, err := filepath.Glob(filepath.Join(folder, "*.json*"))
	if err != nil {
		return p, fmt.Errorf("list %s: %w", folder, err)
	}
	if len(paths) == 0 {
		return p, fmt.Errorf("%s holds no JSON: %w", folder, fs.ErrNotExist)
	}
	for _, path := range paths {
		switch name := filepath.Base(path); {
		case strings.HasSuffix(name, ".sessions.jsonl"):
			err = lines(path, func(s session) { p.sessions = append(p.sessions, s) })
		case strings.HasSuffix(name, ".jsonl"):
			err = lines(path, func(r record) { p.records = append(p.records, r) })
		case strings.HasPrefix(name, "figure-"):
			text, readErr := os.ReadFile(path)
			p.figures[strings.TrimSuffix(strings.TrimPrefix(name, "figure-"), ".json")], err = text, readErr
		}
		if err != nil {
			return p, fmt.Errorf("read %s: %w", path, err)
		}
	}
	p.keepComparisons()
	return p, nil
}

// keepComparisons drops the comparisons of records that are not published: another command has replaced them.
func (p *published) keepComparisons() {
	here := map[string]bool{}
	for _, r := range p.records {
		here[r.ID] = true
	}
	for i, s := range p.sessions {
		p.sessions[i].Comparisons = slices.DeleteFunc(s.Comparisons, func(c comparison) bool {
			return !here[c.RunA] || !here[c.RunB]
		})
	}
}

// lines reads one object per line.
func lines[T any](path string, keep func(T)) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return eachLine(text, keep)
}

func eachLine[T any](text []byte, keep func(T)) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	for decoder.More() {
		var one T
		if err := decoder.Decode(&one); err != nil {
			return err
		}
		keep(one)
	}
	return nil
}
