package session

import (
	"testing"

	"triad/internal/backend"
	"triad/internal/run"
	"triad/internal/worker"
)

// TestLoadingHidesNothing: the progress of loading hides nothing of a backend: neither over how many
// processes it judges, nor which of its families are optional.
func TestLoadingHidesNothing(t *testing.T) {
	shown := loadingShown([]backend.Backend{&worker.Adapter{
		BackendName: "python", Spread: 14,
		Optional: []string{"liger"},
	}}, func(string) {})
	if s, ok := backend.As[interface{ Lanes() int }](shown[0]); !ok || s.Lanes() != 14 {
		t.Error("the processes that judge side by side are hidden")
	}
	if o, ok := backend.As[run.Optional](shown[0]); !ok || len(o.OptionalFamilies()) != 1 {
		t.Error("the families that need not be here are hidden")
	}
}
