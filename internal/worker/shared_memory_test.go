package worker

import (
	"bytes"
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/tensor"
)

// TestLaunchesOfTheSameBytesShareTheirCopy: the output of a later launch is copied only if it differs, and is
// what was in shared memory when the worker answered, whatever it writes there afterwards.
func TestLaunchesOfTheSameBytesShareTheirCopy(t *testing.T) {
	declared := op.TensorType{Name: "y", DType: op.BF16, Shape: []int64{3, 4}}
	job := backend.Job{Outputs: []op.TensorType{declared}, Launches: []backend.LaunchPlan{
		{Poison: "a"},
		{Poison: "b"},
		{Poison: "a"},
	}}
	args, arena, err := layOut(job, make([]byte, 4096))
	if err != nil {
		t.Fatal(err)
	}
	var reply backend.RunReply
	values := [][]byte{
		bytes.Repeat([]byte{1, 2}, 12), bytes.Repeat([]byte{1, 2}, 12),
		bytes.Repeat([]byte{1, 3}, 12),
	}
	for l, launch := range args.Launches {
		place := launch.Outputs[0]
		copy(arena.memory[place.Offset:], values[l])
		reply.Launches = append(reply.Launches, backend.LaunchReply{Outputs: []backend.OutputRef{{
			Name: "y", Present: true, DType: "bf16", Shape: declared.Shape,
			Stride: tensor.Contiguous(declared.Shape), CRC32: tensor.Checksum(values[l]),
		}}})
	}
	outcome := collect(job, args, arena, reply, 0)
	clear(arena.memory)
	if outcome.Status != op.StatusUnknown || len(outcome.Launches) != 3 {
		t.Fatalf("%v: %s", outcome.Status, outcome.Sentence)
	}
	data := func(l int) []byte { return outcome.Launches[l].Outputs[0].Tensor.Data }
	for l, want := range values {
		if !bytes.Equal(data(l), want) {
			t.Errorf("launch %d gave %v, want %v", l, data(l), want)
		}
	}
	if &data(0)[0] != &data(1)[0] || &data(0)[0] == &data(2)[0] {
		t.Error("want one copy of launches 0 and 1, and another of launch 2")
	}
	for l, launch := range args.Launches {
		copy(arena.memory[launch.Outputs[0].Offset:], values[l])
	}
	reply.Launches[1].Outputs[0].CRC32++ // of the bytes that are shared the checksum is asked all the same
	if outcome := collect(job, args, arena, reply, 0); outcome.Status != op.StatusCrash {
		t.Errorf("a wrong checksum of the second launch: %v %s", outcome.Status, outcome.Sentence)
	}
}
