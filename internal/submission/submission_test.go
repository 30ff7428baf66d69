package submission

import (
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
)

// TestACallOfTheFormatMustBeAnswered: a submission shares the process that says what is declined, and may
// replace the function that says so. A call that the format makes is a failure then; another is declined.
func TestACallOfTheFormatMustBeAnswered(t *testing.T) {
	for _, c := range []struct {
		says op.Status
		made bool
		want op.Status
	}{
		{op.StatusUnsupported, true, op.StatusFail},
		{op.StatusUnavailable, true, op.StatusFail},
		{op.StatusUnsupported, false, op.StatusUnsupported},
		{op.StatusCrash, true, op.StatusCrash},
		{op.StatusUnknown, true, op.StatusUnknown},
	} {
		outcome := backend.Outcome{Status: c.says, Sentence: "too large"}
		if mustAnswer(&outcome, c.made); outcome.Status != c.want {
			t.Errorf("%v, made by the format %v: %v, want %v", c.says, c.made, outcome.Status, c.want)
		}
	}
}
