// Package judgeloop judges candidates for published problems, one after the other, and writes triad's verdict
// on each as one JSON object. Processes stay warm between candidates; package lanes starts them.
package judgeloop

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"triad/internal/op"
	"triad/internal/userfile"
)

// Job asks for the verdict on one candidate. Either Problem is set, or Reference with Inputs.
type Job struct {
	ID json.RawMessage `json:"id"` // any JSON value; the result has it too
	// Problem is the path of a folder that triad import made, or of a problem that it can import.
	Problem   string  `json:"problem"`
	Reference *Source `json:"reference"` // a function in torch
	Inputs    []Input `json:"inputs"`    // of the reference
	Candidate *Source `json:"candidate"`
	Pass      string  `json:"pass"`      // "forward", "backward" or "both"; "": "forward"
	Level     string  `json:"level"`     // "quick", "default" or "full"; "": "quick"
	Seed      *uint64 `json:"seed"`      // nil: the usual one
	TimeoutS  float64 `json:"timeout_s"` // for each call of the candidate, and for its import; 0: 20
	Blind     bool    `json:"blind"`     // no message holds a value of the truth
	All       bool    `json:"all"`       // every case is judged, and not only those up to the first wrong one
	// GivenSizes: the candidate is meant for the sizes of the problem, or of the inputs, alone
	GivenSizes bool `json:"given_sizes"`
	// Sizes are the sizes at which it is judged, by the dims of the operator
	Sizes []map[string]int64 `json:"sizes"`
}

// Source is a function or a whole file, of which either the path or the text is given.
type Source struct {
	File string `json:"file"`
	Text string `json:"text"`
	Name string `json:"name"` // of the function; "": the file defines what the problem's format asks for
	// Files are the texts of further files, by their names, which a candidate finds next to its own
	Files map[string]string `json:"files"`
}

// Input describes an input of a reference.
type Input struct {
	Shape []int64 `json:"shape"`
	DType string  `json:"dtype"`
	// Low and High limit what is drawn, the first included: of integers both are needed, of floating-point
	// numbers 0 and 1 alone are understood; nil: normal numbers
	Low  *float64 `json:"low"`
	High *float64 `json:"high"`
}

const (
	defaultTimeout = 20 * time.Second
	longestTimeout = time.Hour
)

// Timeout returns the limit of a call of the candidate.
func (j *Job) Timeout() time.Duration {
	if j.TimeoutS == 0 {
		return defaultTimeout
	}
	return time.Duration(j.TimeoutS * float64(time.Second))
}

// Passes returns the passes that are judged; nil: all.
func (j *Job) Passes() []op.Pass {
	switch j.Pass {
	case "both":
		return nil
	case "backward":
		return []op.Pass{op.Backward}
	}
	return []op.Pass{op.Forward}
}

// LevelOf returns how many cases are judged.
func (j *Job) LevelOf() op.Level {
	switch j.Level {
	case "default":
		return op.LevelDefault
	case "full":
		return op.LevelFull
	}
	return op.LevelQuick
}

// ParseJob reads one line.
func ParseJob(line []byte) (*Job, error) {
	j := &Job{}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(j); err != nil {
		return j, fmt.Errorf("the line is no job: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return j, errors.New("the line is no job: something follows the JSON object")
	}
	return j, j.Check()
}

// Check returns an error if a job is invalid.
func (j *Job) Check() error {
	switch {
	case (j.Problem == "") == (j.Reference == nil):
		return errors.New(`a job has either a "problem" or a "reference"`)
	case j.Reference != nil && len(j.Inputs) == 0:
		return errors.New(`a "reference" needs "inputs": a list of objects such as ` +
			`{"shape": [64, 1000], "dtype": "fp32"}`)
	case j.Reference == nil && len(j.Inputs) > 0:
		return errors.New(`"inputs" belong to a "reference": a problem draws its own`)
	case j.Candidate == nil:
		return errors.New(`a job has a "candidate": an object with a "file" or a "text"`)
	case j.Reference != nil && (j.Reference.Name == "" || j.Candidate.Name == ""):
		return errors.New(`with a "reference", it and the "candidate" have the "name" of a function`)
	case j.GivenSizes && len(j.Sizes) > 0:
		return errors.New(`a job has either "given_sizes" or "sizes"`)
	case slices.ContainsFunc(j.Sizes, func(of map[string]int64) bool { return len(of) == 0 }):
		return errors.New(`"sizes": want objects such as {"m": 32}, with a size of at least one dim`)
	case !known(j.Pass, "forward", "backward", "both"):
		return fmt.Errorf(`"pass" %q: want forward, backward or both`, j.Pass)
	case !known(j.Level, "quick", "default", "full"):
		return fmt.Errorf(`"level" %q: want quick, default or full`, j.Level)
	case j.TimeoutS != 0 && !(j.TimeoutS >= 0.1 && j.TimeoutS <= longestTimeout.Seconds()):
		return fmt.Errorf(`"timeout_s" %v: want 0.1 to %v`, j.TimeoutS, longestTimeout.Seconds())
	}
	for i, in := range j.Inputs {
		if err := in.check(); err != nil {
			return fmt.Errorf(`input %d: %w`, i, err)
		}
	}
	if j.Reference != nil {
		if err := j.Reference.check("reference"); err != nil {
			return err
		}
	}
	return j.Candidate.check("candidate")
}

func known(word string, words ...string) bool {
	for _, w := range words {
		if word == w {
			return true
		}
	}
	return word == ""
}

// pythonName matches the name of a function, fileName that of a further file: no path.
var (
	pythonName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	fileName   = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
)

func (s *Source) check(what string) error {
	switch {
	case (s.File == "") == (s.Text == ""):
		return fmt.Errorf(`the %q has either a "file" or a "text"`, what)
	case s.Name != "" && !pythonName.MatchString(s.Name):
		return fmt.Errorf(`the %q has the "name" %q: want that of a function`, what, s.Name)
	}
	if len(s.Files) > 0 && what != "candidate" {
		return fmt.Errorf(`the %q is one file: only a candidate has "files"`, what)
	}
	for name := range s.Files {
		if !fileName.MatchString(name) {
			return fmt.Errorf(`the %q has "files" with the name %q: want one such as kernel.cu`, what, name)
		}
	}
	return nil
}

// Read returns the text of a source, and the name of its file.
func (s *Source) Read() (text, name string, err error) {
	if s.File == "" {
		return s.Text, "candidate.py", nil
	}
	content, err := userfile.Read(s.File)
	if err != nil {
		return "", "", fmt.Errorf("%s cannot be read: %w", s.File, errors.Unwrap(err))
	}
	return string(content), filepath.Base(s.File), nil
}

// SourceOf reads FILE or FILE:FUNCTION.
func SourceOf(word string) *Source {
	s := &Source{File: word}
	if at := strings.LastIndexByte(word, ':'); at > 0 && pythonName.MatchString(word[at+1:]) {
		s.File, s.Name = word[:at], word[at+1:]
	}
	return s
}
