package topk

import (
	"testing"

	"triad/internal/truth/selection/selectiontest"
	"triad/internal/truth/truthtest"
)

func TestMutation(t *testing.T) { truthtest.Mutation(t, selectiontest.Suites("top_k")) }
