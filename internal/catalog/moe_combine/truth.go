// Package moe_combine is the truth of the rows of experts that go back to their tokens and are added up. The
// order of each sum is stated, so each bit is known.
package moe_combine

import (
	"triad/internal/judge"
	"triad/internal/truth"
	"triad/internal/truth/ranks"
)

var _ = truth.Register("moe_combine", truth.Definition{
	Forward: forward, Backward: backward, Permits: []string{"exact"},
})

func forward(k *truth.Request) ([]judge.Target, error) {
	r, types, err := ranks.Outputs(k)
	if err != nil {
		return nil, err
	}
	rows, err := k.Tensor("rows")
	if err != nil {
		return nil, err
	}
	return []judge.Target{r.Sums(k, types[0], rows)}, nil
}

func backward(k *truth.Request) ([]judge.Target, error) {
	r, types, err := ranks.Outputs(k)
	if err != nil {
		return nil, err
	}
	upstream, err := k.Tensor("grad_y")
	if err != nil {
		return nil, err
	}
	return []judge.Target{r.Copies(k, types[0], upstream)}, nil
}
