package segmentsum

import (
	"testing"

	"triad/internal/truth/reduction/reductiontest"
	"triad/internal/truth/truthtest"
)

func TestMutation(t *testing.T) {
	truthtest.Mutation(t, reductiontest.Suites("segment_sum"))
}
