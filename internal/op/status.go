package op

import "fmt"

// Status is the result of one run or of one output of it. The zero value is none of the statuses and never
// passes.
type Status uint8

// The statuses. docs/architecture.md has a table of what sets each and what it counts as.
const (
	StatusUnknown           Status = iota
	StatusPass                     // every planned comparison accepted under the default contract
	StatusWarn                     // as PASS, but a bias shows
	StatusDifferentContract        // passes only under the looser contract it declares
	StatusEmptyOK                  // every output has no element, and nothing was written
	StatusNoPower                  // accepted, but this case cannot tell right from wrong
	StatusUnsupported              // the implementation declines this call, with a sentence
	StatusMissing                  // it has no such pass or output
	StatusSkipped                  // the device cannot hold it
	StatusUnavailable              // its toolchain is not here
	StatusInconclusive             // there is no truth for it
	StatusFail                     // a gate rejects
	StatusRace                     // other bits in another schedule order
	StatusOutOfBounds
	StatusDivergent
	StatusDeadlock
	StatusCrash
	StatusHang
	StatusOOM
	StatusBuildFail
	StatusFlaky       // bad once, good when repeated alone
	StatusInterrupted // the session ended first
	StatusImpossible  // faster than physics allows
	StatusUnstable    // too noisy to decide
	StatusKnown       // a FAIL of a library's row that a documented finding covers
	// wrong as triad reads the file, which leaves open whether that reading is meant
	StatusNotUnderstood
)

var statusNames = [...]string{
	"UNKNOWN", "PASS", "WARN", "DIFFERENT_CONTRACT", "EMPTY_OK", "NO_POWER", "UNSUPPORTED", "MISSING",
	"SKIPPED", "UNAVAILABLE",
	"INCONCLUSIVE", "FAIL", "RACE", "OUT_OF_BOUNDS", "DIVERGENT", "DEADLOCK", "CRASH", "HANG", "OOM",
	"BUILD_FAIL", "FLAKY",
	"INTERRUPTED", "IMPOSSIBLE", "UNSTABLE", "KNOWN",
	"NOT_UNDERSTOOD",
}

// String returns the name that is stored and shown.
func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return "UNKNOWN"
}

// ParseStatus reads a status by its name.
func ParseStatus(name string) (Status, error) {
	for i, n := range statusNames {
		if i > 0 && n == name {
			return Status(i), nil
		}
	}
	return StatusUnknown, fmt.Errorf("status %q is none of %v", name, statusNames[1:])
}

// Statuses lists every status but the zero value.
func Statuses() []Status {
	all := make([]Status, 0, len(statusNames)-1)
	for i := 1; i < len(statusNames); i++ {
		all = append(all, Status(i))
	}
	return all
}

// MarshalText writes the name.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the name.
func (s *Status) UnmarshalText(text []byte) error {
	v, err := ParseStatus(string(text))
	*s = v
	return err
}

// Weight is the effect of a status on an exit code.
type Weight uint8

// The zero value is Bad: an unclassified status must not pass.
const (
	Bad Weight = iota
	Neutral
	Good
)

// String returns good, neutral or bad.
func (w Weight) String() string {
	switch w {
	case Good:
		return "good"
	case Neutral:
		return "neutral"
	}
	return "bad"
}

// Weight returns the weight of the status; see the table of statuses.
func (s Status) Weight() Weight {
	switch s {
	case StatusPass, StatusWarn:
		return Good
	case StatusDifferentContract, StatusEmptyOK, StatusNoPower, StatusUnsupported, StatusMissing,
		StatusSkipped, StatusUnavailable, StatusInterrupted, StatusUnstable, StatusKnown,
		StatusNotUnderstood:
		return Neutral
	default:
		return Bad
	}
}
