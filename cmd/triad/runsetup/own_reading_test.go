package runsetup

import (
	"testing"
	"time"

	"triad/internal/run"
)

// TestBuildingDoesNotCountAsReading: building a reading takes no time from the others, up to the time for
// building.
func TestBuildingDoesNotCountAsReading(t *testing.T) {
	r := readingTime{until: time.Now().Add(-time.Second), builds: mostBuilding}
	if !r.over() {
		t.Fatal("the time is not up, and it was a second ago")
	}
	r.built([]run.Spent{
		{On: "loading", Time: 20 * time.Second}, {On: "running and judging", Time: time.Hour},
	})
	if r.over() {
		t.Error("the time is up though 20 seconds of it went into building")
	}
	before := r.until
	r.built([]run.Spent{{On: "loading", Time: time.Hour}})
	if got := r.until.Sub(before); got != mostBuilding-20*time.Second {
		t.Errorf("a build of an hour gives %v more, want what is left of %v", got, mostBuilding)
	}
}
