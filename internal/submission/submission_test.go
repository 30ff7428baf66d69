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
		says        op.Status
		empty, made bool
		want        op.Status
	}{
		{op.StatusUnsupported, false, true, op.StatusFail},
		{op.StatusUnavailable, false, true, op.StatusFail},
		{op.StatusUnsupported, false, false, op.StatusUnsupported},
		{op.StatusCrash, false, true, op.StatusCrash},
		{op.StatusUnknown, false, true, op.StatusUnknown},
		// 0 blocks are refused by CUDA, as in a user's CUDA file
		{op.StatusCrash, true, false, op.StatusUnsupported},
		{op.StatusCrash, true, true, op.StatusFail},
	} {
		outcome := backend.Outcome{Status: c.says, Sentence: "AcceleratorError: CUDA error: invalid argument"}
		if explain(&outcome, c.empty, c.made); outcome.Status != c.want {
			t.Errorf("%v, empty %v, made by the format %v: %v, want %v", c.says, c.empty, c.made,
				outcome.Status, c.want)
		}
	}
}
