package add

import (
	"testing"

	"triad/internal/truth/elementwise/elementwisetest"
	"triad/internal/truth/truthtest"
)

func TestMutation(t *testing.T) {
	truthtest.Mutation(t, elementwisetest.Suites("add"))
}
