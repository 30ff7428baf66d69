package layernorm

import (
	"testing"

	"triad/internal/truth/rownorm/rownormtest"
	"triad/internal/truth/truthtest"
)

var suites = rownormtest.Suites("layernorm")

func TestMutation(t *testing.T) { truthtest.Mutation(t, suites) }
