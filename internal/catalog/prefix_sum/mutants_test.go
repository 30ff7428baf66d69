package prefixsum

import (
	"testing"

	"triad/internal/truth/scan/scantest"
	"triad/internal/truth/truthtest"
)

func TestMutation(t *testing.T) {
	truthtest.Mutation(t, scantest.Suites("prefix_sum"))
}
