package rmsnorm

import (
	"testing"

	"triad/internal/truth/rownorm/rownormtest"
	"triad/internal/truth/truthtest"
)

func TestMutation(t *testing.T) { truthtest.Mutation(t, rownormtest.Suites("rmsnorm")) }
