package gradcheck

import (
	"errors"
	"strings"
	"testing"

	"triad/internal/session"
	"triad/internal/truth"
)

// TestWithBackward: an operator without a backward is refused by name, and left out of all.
func TestWithBackward(t *testing.T) {
	softmax, err := truth.Get("softmax")
	if err != nil {
		t.Fatal(err)
	}
	bare := *softmax.Spec
	bare.Name, bare.Backward = "argmax", nil
	argmax := &truth.Operator{Spec: &bare}
	if _, err := withBackward([]*truth.Operator{softmax, argmax}, false); err == nil ||
		!strings.HasPrefix(err.Error(), "argmax has no backward") {
		t.Errorf("by name: %v", err)
	} else if f := new(session.Failure); !errors.As(err, &f) || f.Code != session.ExitUsage {
		t.Errorf("by name: %v, want exit code 2", err)
	}
	if got, err := withBackward([]*truth.Operator{argmax, softmax}, true); err != nil || len(got) != 1 ||
		got[0] != softmax {
		t.Errorf("of all: %v, %v", got, err)
	}
	if _, err := withBackward([]*truth.Operator{argmax}, true); err == nil {
		t.Error("nothing left to check, and no error")
	}
}
