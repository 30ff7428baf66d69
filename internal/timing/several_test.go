package timing_test

import (
	"testing"

	"triad/internal/backend"
	"triad/internal/timing"
)

// several is the telemetry of two cards, the second of which is slowed down.
type several struct{}

func (several) Read() timing.Reading    { return timing.Reading{ClockMHz: 1980, Throttle: 1} }
func (several) ReadAll() timing.Reading { return timing.Reading{ClockMHz: 1200, Throttle: 5} }

// TestTelemetryOfSeveralCards: of a call on two devices both cards are read, of the others the first,
// whatever an idle one does.
func TestTelemetryOfSeveralCards(t *testing.T) {
	g := newGPU(t, 0.001, map[string]float64{"one": 10_000, "two": 10_000})
	g.telemetry = several{}
	g.facts = func(name string, f *backend.PrepareReply) {
		if name == "two" {
			f.Devices = 2
		}
	}
	r := timeOn(t, g, coldPlan, nil)
	for name, want := range map[string]timing.Reading{"one": several{}.Read(), "two": several{}.ReadAll()} {
		got := r.timing(t, name)
		if got.ClockMHz == nil || float64(*got.ClockMHz) != want.ClockMHz || got.Throttle != want.Throttle {
			t.Errorf("%s: %v MHz, %d, want %+v", name, got.ClockMHz, got.Throttle, want)
		}
	}
}
