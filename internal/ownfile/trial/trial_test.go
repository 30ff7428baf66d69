package trial

import (
	"testing"
	"time"
)

// TestBuildingDoesNotCountAsTrying: building an interpretation takes no time from the others, up to the time
// for building.
func TestBuildingDoesNotCountAsTrying(t *testing.T) {
	r := interpretationTime{until: time.Now().Add(-time.Second), builds: mostBuilding}
	if !r.over() {
		t.Fatal("the time is not up, and it was a second ago")
	}
	r.built([]time.Duration{20 * time.Second})
	if r.over() {
		t.Error("the time is up though 20 seconds of it went into building")
	}
	before := r.until
	r.built([]time.Duration{time.Hour})
	if got := r.until.Sub(before); got != mostBuilding-20*time.Second {
		t.Errorf("a build of an hour gives %v more, want what is left of %v", got, mostBuilding)
	}
}
