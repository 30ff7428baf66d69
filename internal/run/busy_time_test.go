package run

import (
	"testing"
	"time"
)

// TestOverlapping: cases that run at the same time count once.
func TestOverlapping(t *testing.T) {
	var o overlapping
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	o.begin(at(0))
	o.begin(at(1))
	if got := o.total(at(3)); got != 3*time.Second {
		t.Errorf("%v while both run, want 3s", got)
	}
	o.end(at(4))
	o.end(at(6))
	o.begin(at(10))
	o.end(at(11))
	if got := o.total(at(20)); got != 7*time.Second {
		t.Errorf("%v, want 7s", got)
	}
}
