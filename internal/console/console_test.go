package console

import (
	"sync/atomic"
	"testing"
)

// TestEndsAtOnce: what ends first does not end it for what began meanwhile, and nothing is left behind.
func TestEndsAtOnce(t *testing.T) {
	c := &Console{AtOnce: &atomic.Int32{}}
	first := c.EndsAtOnce()
	second := c.EndsAtOnce()
	first()
	if c.AtOnce.Load() != 1 {
		t.Errorf("%d parts end at once, want the second", c.AtOnce.Load())
	}
	if second(); c.AtOnce.Load() != 0 {
		t.Errorf("%d parts end at once after all are over", c.AtOnce.Load())
	}
}
