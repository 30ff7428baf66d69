package record

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"triad/internal/op"
)

// Item is one entry of a plan: an implementation to be run on a case.
type Item struct {
	Case op.Case
	Impl string
	Seed uint64
	// Source is the content hash of the implementation as it was planned. It is no part of the item's
	// identity: a resumed session compares it.
	Source string
}

// Session is one invocation that ran something.
type Session struct {
	ID        string   // ULID, given by the store
	Request   string   // canonical text of the request: only the same request resumes a session
	Command   []string // the arguments as typed, without the program's name
	Version   string   // of triad
	Commit    string   // of the source tree, "" if it is not known
	Level     string   // "quick", "default", "full"
	Seed      uint64
	Added     []string // files given with --add
	Machine   Machine
	Toolchain Toolchain
	Started   time.Time
	Ended     time.Time // zero while it runs and if it was killed
	Exit      int       // exit code; meaningful when Ended is set
	// InternalError is the error inside triad that ended the session: a line with what was being done, then
	// the stack; "" if there was none.
	InternalError string
}

// Machine describes the machine of a session. Two sessions with the same facts share one machine. It has no
// name, so that a database can be passed on.
type Machine struct {
	OS             string `json:"os"` // "linux"
	Kernel         string `json:"kernel"`
	Arch           string `json:"arch"`
	CPU            string `json:"cpu"`
	Cores          int    `json:"cores"`
	MemoryBytes    int64  `json:"memory_bytes"`
	GPU            string `json:"gpu"` // "" if there is none
	GPUMemoryBytes int64  `json:"gpu_memory_bytes"`
	GPUDriver      string `json:"gpu_driver"`
}

// Toolchain is the version of everything that took part: "go", "g++", "python", "torch", "triton", "nvcc",
// ...
type Toolchain map[string]string

// Hash identifies the machine by its facts.
func (m Machine) Hash() string { return contentHash(m) }

// Hash identifies the toolchain by its versions.
func (t Toolchain) Hash() string { return contentHash(t) }

// contentHash hashes the JSON form: 16 hexadecimal digits. Map keys are sorted by encoding/json.
func contentHash(v any) string {
	text, _ := json.Marshal(v)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// Difference is the distance of two implementations in one output of one case. A and B are the names, RunA
// and RunB the IDs of their records; A sorts before B.
type Difference struct {
	Session string  `json:"session"`
	CaseKey string  `json:"case"`
	Op      string  `json:"op"`
	Pass    op.Pass `json:"pass"`
	DType   string  `json:"dtype"`
	Output  string  `json:"output"`
	A       string  `json:"a"`
	B       string  `json:"b"`
	RunA    string  `json:"run_a"`
	RunB    string  `json:"run_b"`
	N       int64   `json:"n"`       // elements compared
	Bitwise bool    `json:"bitwise"` // every bit is equal
	// elements whose values differ: NaN equals NaN here, and -0 equals +0
	NDifferent int64 `json:"n_different"`
	// "inf" if one is NaN or infinite and the other is not; null if nothing was compared
	ULPMax *Float     `json:"ulp_max"`
	Worst  *Disparity `json:"worst"` // null if no values differ
}

// Disparity is the element in which two outputs differ most.
type Disparity struct {
	Index []int64 `json:"index"`
	A     Float   `json:"a"`
	B     Float   `json:"b"`
}

// Run is everything about one record: what `triad results show` prints.
type Run struct {
	Record      Record
	Session     Session
	Differences []Difference
}

// runObject is the JSON form of a Run.
type runObject struct {
	Run         Record        `json:"run"`
	Command     string        `json:"command"`
	Session     sessionObject `json:"session"`
	Differences []Difference  `json:"differences"`
}

// sessionObject is the JSON form of a Session.
type sessionObject struct {
	ID        string    `json:"id"`
	Request   string    `json:"request"`
	Command   []string  `json:"command"`
	Version   string    `json:"version"`
	Commit    string    `json:"commit"`
	Level     string    `json:"level"`
	Seed      uint64    `json:"seed"`
	Added     []string  `json:"added"`
	Machine   Machine   `json:"machine"`
	Toolchain Toolchain `json:"toolchain"`
	Started   string    `json:"started"`
	Ended     *string   `json:"ended"`
	Exit      *int      `json:"exit"`

	InternalError string `json:"internal_error"`
}

// objectOf returns the JSON form of a session.
func objectOf(s Session) sessionObject {
	o := sessionObject{
		ID: s.ID, Request: s.Request, Command: orEmpty(s.Command), Version: s.Version, Commit: s.Commit,
		Level: s.Level, Seed: s.Seed,
		Added: orEmpty(s.Added), Machine: s.Machine, Toolchain: s.Toolchain,
		Started: s.Started.UTC().Format(TimeFormat), InternalError: s.InternalError,
	}
	if !s.Ended.IsZero() {
		o.Ended, o.Exit = new(s.Ended.UTC().Format(TimeFormat)), &s.Exit
	}
	return o
}

// MarshalJSON writes the object that docs/json.md describes.
func (r Run) MarshalJSON() ([]byte, error) {
	return json.Marshal(runObject{
		Run: r.Record, Command: Repeat(r.Record, r.Session.Added),
		Session: objectOf(r.Session), Differences: orEmpty(r.Differences),
	})
}

// Measured is a session with its measurements other than records, as `triad results export --format sessions`
// writes it.
type Measured struct {
	Session     Session
	Ceilings    []Ceiling
	Comparisons []Comparison
}

// SessionCount is a session with its runs counted by outcome.
type SessionCount struct {
	Session                   Session
	State                     string // "running", "complete" or "interrupted"
	Good, Neutral, Bad, Timed int
}

// MarshalJSON writes the object that docs/json.md describes.
func (c SessionCount) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		sessionObject
		State   string `json:"state"`
		Good    int    `json:"n_good"`
		Neutral int    `json:"n_neutral"`
		Bad     int    `json:"n_bad"`
		Timed   int    `json:"n_timed"`
	}{objectOf(c.Session), c.State, c.Good, c.Neutral, c.Bad, c.Timed})
}

// MarshalJSON writes the object that docs/json.md describes.
func (m Measured) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		sessionObject
		Ceilings    []Ceiling    `json:"rulers"`
		Comparisons []Comparison `json:"comparisons"`
	}{objectOf(m.Session), orEmpty(m.Ceilings), orEmpty(m.Comparisons)})
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Progress is the progress of a session.
type Progress struct {
	State               string // "running", "complete" or "interrupted"
	Planned, Ended, Bad int    // runs
	At                  string // what runs now, in words; "" if that is not known
}
