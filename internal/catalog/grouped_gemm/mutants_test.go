package groupedgemm

import (
	"testing"

	"triad/internal/truth/product/producttest"
	"triad/internal/truth/truthtest"
)

func TestMutation(t *testing.T) { truthtest.Mutation(t, producttest.Suites("grouped_gemm")) }
