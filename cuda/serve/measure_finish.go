package serve

import (
	"fmt"

	"triad/internal/backend"
	"triad/internal/op"
)

// finish copies out the results of the timed calls, compares the sets with each other and frees everything.
func (a *candidate) finish(args backend.FinishArgs) (backend.FinishReply, error) {
	var reply backend.FinishReply
	err := a.collect(args, &reply)
	f, err := failedCandidate(Finding{}, err)
	if err != nil {
		return backend.FinishReply{}, err
	}
	if f.Status != op.StatusUnknown {
		reply.Launches, reply.Fatal = []backend.LaunchReply{{Status: f.Status, Message: f.Message}}, true
		return reply, nil
	}
	if guard := a.free(); guard.Status != op.StatusUnknown && len(reply.Launches) > 0 {
		reply.Launches[0].Status, reply.Launches[0].Message, reply.Fatal = guard.Status, guard.Message, true
	}
	return reply, nil
}

func (a *candidate) collect(args backend.FinishArgs, reply *backend.FinishReply) error {
	if len(args.Launches) > 2 || len(args.Launches) > 0 && len(a.sets) == 0 {
		return fmt.Errorf("finish a candidate of %d sets: %d launches are asked for", len(a.sets),
			len(args.Launches))
	}
	for i, launch := range args.Launches {
		l := a.sets[i*(len(a.sets)-1)]
		l.plan = launch
		var one backend.LaunchReply
		var err error
		if i == 1 && len(a.sets) == 1 {
			if err := l.poison(); err != nil {
				return err
			}
			if _, err := a.replay(1); err != nil {
				return err
			}
		}
		if one.Inputs, err = l.hashInputs(); err != nil {
			return err
		}
		if one.Outputs, err = l.collect(); err != nil {
			return err
		}
		reply.Launches = append(reply.Launches, one)
	}
	if len(args.Launches) == 0 {
		return nil
	}
	return a.compareSets(reply)
}

// compareSets reports for each output the first set whose bits differ from those of set 0.
func (a *candidate) compareSets(reply *backend.FinishReply) error {
	first := a.sets[0]
	for i, output := range first.outputs {
		for set := 1; set < len(a.sets); set++ {
			l := a.sets[set]
			n, err := a.clock.Differing(output, l.outputs[i])
			if err != nil {
				return err
			}
			if n == 0 {
				continue
			}
			found := backend.Differing{Output: output.Name, Set: set, Bytes: n}
			for j, input := range first.inputs {
				if n, err = a.clock.Differing(input, l.inputs[j]); err != nil {
					return err
				}
				if n > 0 {
					found.Inputs = append(found.Inputs, input.Name)
				}
			}
			reply.Differing = append(reply.Differing, found)
			break
		}
	}
	return nil
}

// free frees all memory. A changed guard is an access out of bounds.
func (a *candidate) free() Finding {
	if a.timer != nil {
		a.timer.Close()
	}
	if a.own != nil {
		a.own.close()
	}
	var f Finding
	for _, l := range a.sets {
		var reply backend.LaunchReply
		var dirty bool
		l.release(&reply, &dirty)
		l.call.free()
		if f.Status == op.StatusUnknown {
			f.Status, f.Message = reply.Status, reply.Message
		}
	}
	for _, pair := range a.pairs {
		for _, b := range pair {
			a.server.device.Free(b)
		}
	}
	return f
}
