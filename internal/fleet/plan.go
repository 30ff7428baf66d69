// Package fleet runs the shards of one request on other machines and brings their parts home. It cuts, waits
// and counts; an engine (Slurm) starts the tasks, a task is `triad part`, and the union is results.Merge. All
// parts record under one session, whose plan has each run once: work that is done twice is merged once.
package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// Plan is the description of a run that every task reads from the shared folder.
type Plan struct {
	Session string   `json:"session"` // ULID that all parts record under
	Version string   `json:"version"` // of the triad that cut the run
	Host    string   `json:"host"`    // where that triad runs
	Kernels string   `json:"kernels"` // a hash of the kernels that triad has
	Args    []string `json:"args"`    // the command line, without shard, database and files
	Shards  int      `json:"shards"`
	// Shards are not cut: each takes the next case when it is free.
	Claimed bool `json:"claimed,omitempty"`
	// operators with an implementation that is spread over two GPUs: all their cases are for the last shard,
	// which has all GPUs, alone
	Spread []string `json:"spread,omitempty"`
	// the words of --add, paths from the root of the driver's file system; Many: each is judged separately
	Files []string `json:"files,omitempty"`
	Many  bool     `json:"many,omitempty"`
	// the folder of the files on a task's machine; "": as for the driver
	Root string `json:"root,omitempty"`
}

// SpreadShard returns the shard that has all GPUs; 0 if there is none.
func (p Plan) SpreadShard() int {
	if len(p.Spread) == 0 {
		return 0
	}
	return p.Shards
}

// Outcome is the result of one task. It is written after the part, so a reader that sees it finds the part
// complete.
type Outcome struct {
	Complete bool   `json:"complete"` // nothing of the shard is missing
	Stopped  bool   `json:"stopped"`  // it was asked to end
	Part     bool   `json:"part"`     // there is a database
	Exit     int    `json:"exit"`
	Reason   string `json:"reason"` // what went wrong, "" if nothing did
	Host     string `json:"host"`
	Power    Power  `json:"power"`
}

// Power counts the cases of a part that can distinguish right from wrong.
type Power struct {
	Cases   int `json:"cases"`
	Powered int `json:"powered"`
	Trivial int `json:"trivial"`
}

// Folder is the shared folder of a run.
type Folder string

// Part returns the database of a shard, from 1.
func (f Folder) Part(shard int) string { return f.in("part-%d.db", shard) }

func (f Folder) outcome(shard int) string { return f.in("part-%d.json", shard) }

func (f Folder) in(format string, a ...any) string {
	return filepath.Join(string(f), fmt.Sprintf(format, a...))
}

// Create makes the folder and writes the plan.
func (f Folder) Create(p Plan) error {
	if err := os.MkdirAll(f.in("claims"), 0o755); err != nil {
		return fmt.Errorf("make the shared folder: %w", err)
	}
	return writeJSON(f.in("plan.json"), p)
}

// Plan reads the plan that Create wrote.
func (f Folder) Plan() (p Plan, err error) {
	err = readJSON(f.in("plan.json"), &p)
	return p, err
}

// Outcome returns the outcome of a shard's task; found is false if none has ended.
func (f Folder) Outcome(shard int) (o Outcome, found bool, err error) {
	err = readJSON(f.outcome(shard), &o)
	if errors.Is(err, fs.ErrNotExist) {
		return o, false, nil
	}
	return o, err == nil, err
}

// End writes how the task of a shard ended.
func (f Folder) End(shard int, o Outcome) error { return writeJSON(f.outcome(shard), o) }

// forget takes the outcome of a shard away, so that it is done again.
func (f Folder) forget(shard int) error {
	if err := os.Remove(f.outcome(shard)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget how shard %d ended: %w", shard, err)
	}
	return nil
}

// Bring puts a file into the folder under another name, whole or not at all.
func Bring(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return fmt.Errorf("bring %s: %w", from, err)
	}
	return writeWhole(to, data)
}

func writeJSON(path string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return writeWhole(path, append(text, '\n'))
}

// writeWhole writes a temporary file in the same folder and renames it: a reader on another machine sees all
// of the file or nothing.
func writeWhole(path string, data []byte) error {
	sameFolder := renameio.WithTempDir(filepath.Dir(path))
	if err := renameio.WriteFile(path, data, 0o644, sameFolder); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func readJSON(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}
