package fleetrun

import (
	"fmt"
	"testing"
	"testing/fstest"

	"triad/internal/console"
	"triad/internal/fleet"
	"triad/internal/machine"
	"triad/internal/op"
	"triad/internal/run"
	"triad/internal/runsetup"
	"triad/internal/truth"
)

// TestSpreadShard: only an operator of which a row on two GPUs is asked for is left to the shard that has
// both; where all are, there is no other shard.
func TestSpreadShard(t *testing.T) {
	sources := fstest.MapFS{
		"cuda/kernels/pair.cu": {Data: []byte("TRIAD_KERNEL(pair, naive, forward, .launch(f))\n" +
			"TRIAD_KERNEL(pair, peer, forward, .devices(2).launch(g))\n")},
		"triton/pair.py":      {Data: []byte("Implementation(\"torch/halves\", f, devices=2)\n")},
		"cuda/kernels/one.cu": {Data: []byte("TRIAD_KERNEL(one, naive, forward, .launch(f))\n")},
	}
	for _, of := range []struct {
		impls, operators []string
		shards           int
		spread           string
	}{
		{nil, []string{"pair"}, 1, "[pair]"},
		{nil, []string{"pair", "one"}, 3, "[pair]"},
		{[]string{"cuda/peer"}, []string{"pair"}, 1, "[pair]"},
		{[]string{"cuda"}, []string{"one", "pair"}, 3, "[pair]"},
		{[]string{"torch"}, []string{"pair", "one"}, 3, "[pair]"},
		{[]string{"triton"}, []string{"pair"}, 2, "[]"},
		{[]string{"cuda/naive", "triton"}, []string{"pair", "one"}, 2, "[]"},
	} {
		r := &onFleet{
			Setup:   runsetup.New(machine.New(&console.Console{Files: sources})),
			o:       &runsetup.Options{},
			request: run.Request{Impls: of.impls},
		}
		r.o.On.Visible = []string{"0", "1"}
		for _, name := range of.operators {
			r.request.Operators = append(r.request.Operators, &truth.Operator{Spec: &op.Spec{Name: name}})
		}
		plan := fleet.Plan{Claimed: true, Shards: 2}
		r.spread(&plan)
		if plan.Shards != of.shards || r.o.On.Shards != of.shards || fmt.Sprint(plan.Spread) != of.spread {
			t.Errorf("%q of %q: %d shards, %q spread, want %d and %s", of.impls, of.operators, plan.Shards,
				plan.Spread, of.shards, of.spread)
		}
	}
}
