package worker

import (
	"fmt"
	"slices"
	"time"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/tensor"
)

// align is the distance of tensors in the shared memory, in bytes.
const align = 64

// arena allocates places in the shared memory, one after the other.
type arena struct {
	memory []byte
	used   int64
}

func (m *arena) place(bytes int64) (offset int64, err error) {
	offset = m.used
	if bytes < 0 || bytes > int64(len(m.memory))-offset {
		return 0, fmt.Errorf("the tensors of this case need more than the %d bytes of shared memory",
			len(m.memory))
	}
	m.used = (offset + bytes + align - 1) / align * align
	return offset, nil
}

// layOut copies the inputs of a job into shared memory and poisons the places of its outputs, so that a reply
// that claims an output it did not write cannot show an older one.
func layOut(job backend.Job, memory []byte) (backend.RunArgs, *arena, error) {
	m := &arena{memory: memory}
	i := job.Implementation
	args := backend.RunArgs{
		Op: i.Op, Implementation: i.Name, Pass: i.Pass, DType: job.DType, Contract: job.Contract,
		Attrs: job.Attrs, Inputs: []backend.TensorRef{},
		SizesAlone: job.SizesAlone, Words: job.Words,
	}
	for _, t := range job.Inputs {
		offset, err := m.place(int64(len(t.Data)))
		if err != nil {
			return args, m, err
		}
		tensor.Copy(memory[offset:], t.Data)
		args.Inputs = append(args.Inputs, backend.TensorRef{
			Name: t.Name, DType: t.DType, Shape: t.Shape, Stride: t.Stride, Start: t.Offset,
			Offset: offset, Bytes: int64(len(t.Data)), CRC32: tensor.Checksum(t.Data),
		})
	}
	for _, plan := range job.Launches {
		launch := backend.Launch{Poison: plan.Poison, Order: plan.Order, Place: plan.Place}
		for _, t := range job.Outputs {
			bytes := t.Elements() * t.DType.Size()
			offset, err := m.place(bytes)
			if err != nil {
				return args, m, err
			}
			tensor.Poison(memory[offset:offset+bytes], t.DType, plan.Poison)
			launch.Outputs = append(launch.Outputs, backend.TensorRef{
				Name: t.Name, DType: t.DType, Shape: t.Shape,
				Stride: tensor.Contiguous(t.Shape), Offset: offset, Bytes: bytes,
			})
		}
		args.Launches = append(args.Launches, launch)
	}
	return args, m, nil
}

// mayReport reports whether a worker may report a status. Only the judge decides what is good: a worker runs
// the very code that is judged.
func mayReport(s op.Status) bool {
	switch s {
	case op.StatusUnsupported, op.StatusUnavailable, op.StatusOutOfBounds, op.StatusDivergent,
		op.StatusDeadlock, op.StatusOOM, op.StatusCrash, op.StatusHang, op.StatusBuildFail:
		return true
	}
	return false
}

// checkFailures rejects a load reply whose failures have a status that is no failure to load, or are this
// machine's fault.
func checkFailures(failed []backend.LoadFailure) error {
	for _, f := range failed {
		if f.Status == op.StatusInterrupted {
			return &backend.HostTrouble{Sentence: f.Message, Log: f.Log}
		}
		if f.Status != op.StatusBuildFail && f.Status != op.StatusUnavailable {
			return fmt.Errorf("%s failed to load with the status %v, want %v or %v", f.Implementation,
				f.Status, op.StatusBuildFail, op.StatusUnavailable)
		}
	}
	return nil
}

// collect turns a reply into an outcome and copies the outputs out of shared memory. A reply whose frames are
// incomplete is a crash.
func collect(job backend.Job, args backend.RunArgs, m *arena, reply backend.RunReply,
	wall time.Duration,
) backend.Outcome {
	outcome := backend.Outcome{Wall: wall, PeakBytes: reply.PeakBytes}
	incomplete := func(format string, a ...any) backend.Outcome {
		outcome.Status = op.StatusCrash
		outcome.Sentence = "the worker's reply is incomplete: " + fmt.Sprintf(format, a...)
		outcome.Ended = true // the worker is not used again
		return outcome
	}
	if len(reply.Launches) > len(args.Launches) {
		return incomplete("%d launches, asked for %d", len(reply.Launches), len(args.Launches))
	}
	firsts := make([]copied, len(job.Outputs))
	for i, l := range reply.Launches {
		outcome.Learned(l)
		if l.Status != op.StatusUnknown {
			if !mayReport(l.Status) {
				return incomplete("launch %d says %v, which is not for a worker to say", i, l.Status)
			}
			outcome.Status, outcome.Sentence, outcome.Where = l.Status, printable(l.Message), l.Where
			if i > 0 {
				outcome.ChangedItsMind()
			}
			return outcome
		}
		if len(l.Inputs) != len(args.Inputs) || len(l.Outputs) != len(job.Outputs) {
			return incomplete("launch %d has %d input hashes and %d outputs, want %d and %d", i,
				len(l.Inputs), len(l.Outputs), len(args.Inputs), len(job.Outputs))
		}
		result := backend.LaunchOutcome{Plan: job.Launches[i], Guards: l.Guards, Fault: printable(l.Fault)}
		result.Changed = changedInputs(args, l.Inputs)
		for k, out := range l.Outputs {
			declared, place := job.Outputs[k], args.Launches[i].Outputs[k]
			if out.Name != declared.Name {
				return incomplete("launch %d: output %d is %q, want %q", i, k, out.Name, declared.Name)
			}
			out.Type = printable(out.Type)
			output := backend.Output{OutputRef: out}
			if out.Present {
				var sum uint32
				output.Tensor, sum = copyOut(declared, m.memory[place.Offset:place.Offset+place.Bytes],
					&firsts[k])
				fits := out.Type == "" && out.DType == declared.DType.String() &&
					slices.Equal(out.Shape, declared.Shape)
				if fits && sum != out.CRC32 {
					return incomplete("launch %d: the bytes of %s do not match their checksum", i, out.Name)
				}
			}
			result.Outputs = append(result.Outputs, output)
		}
		outcome.Launches = append(outcome.Launches, result)
	}
	if len(outcome.Launches) != len(args.Launches) {
		return incomplete("%d launches, asked for %d", len(outcome.Launches), len(args.Launches))
	}
	return outcome
}

// changedInputs names the inputs whose checksums differ from those sent.
func changedInputs(args backend.RunArgs, sums []uint32) []string {
	var changed []string
	for i, sum := range sums {
		if sum != args.Inputs[i].CRC32 {
			changed = append(changed, args.Inputs[i].Name)
		}
	}
	return changed
}

// copied is an output of the first launch that gave it, with the checksum of its bytes.
type copied struct {
	tensor.Tensor
	sum uint32
}

// copyOut copies an output out of shared memory, whose contents may change meanwhile, and returns the
// checksum of the copy. A launch with the same bytes as the first one shares its copy: fresh memory costs
// more than comparing them.
func copyOut(declared op.TensorType, shared []byte, first *copied) (tensor.Tensor, uint32) {
	if first.Data != nil && tensor.Equal(first.Data, shared) {
		return first.Tensor, first.sum
	}
	out := tensor.New(declared.Name, declared.DType, declared.Shape)
	sum := tensor.CopyChecked(out.Data, shared)
	if first.Data == nil {
		*first = copied{out, sum}
	}
	return out, sum
}
