package cuda

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"triad/internal/backend"
	"triad/internal/op"
)

// arm is a call, or a ruler, prepared to be timed: sets of memory, and a graph of calls that go through them in turn.
type arm struct {
	server *server
	clock  Clock
	timer  Timer
	facts  backend.PrepareReply
	sets   []*launching // of a call
	pairs  [][2]Buffer  // of a ruler: to, from
	ruler  string
}

// measure does one step of a timing.
func (s *server) measure(ctx context.Context, args backend.MeasureArgs) (result any, fatal bool, err error) {
	switch {
	case args.Step == backend.StepPrepare && args.Prepare != nil:
		reply, err := s.prepareArm(ctx, args.Arm, *args.Prepare)
		return reply, reply.Fatal, err
	case args.Step == backend.StepTime && args.Time != nil:
		a, err := s.arm(args.Arm)
		if err != nil {
			return nil, false, err
		}
		reply, err := a.time(*args.Time)
		return reply, reply.Fatal, err
	case args.Step == backend.StepFinish && args.Finish != nil:
		a, err := s.arm(args.Arm)
		if err != nil {
			return nil, false, err
		}
		delete(s.arms, args.Arm)
		reply, err := a.finish(*args.Finish)
		return reply, reply.Fatal, err
	}
	return nil, false, fmt.Errorf("measure step %q: unknown, or without its arguments", args.Step)
}

func (s *server) arm(number int64) (*arm, error) {
	if a := s.arms[number]; a != nil {
		return a, nil
	}
	return nil, fmt.Errorf("measure arm %d: nothing is prepared under this number", number)
}

// clockOf loads the device's clock, once.
func (s *server) clockOf(ctx context.Context) (Clock, error) {
	if s.clock != nil {
		return s.clock, nil
	}
	device, ok := s.device.(Clocked)
	if !ok {
		return nil, &backend.Unavailable{Sentence: "the " + s.device.Name() + " has no clock: only a GPU is timed"}
	}
	library, err := device.Library(ctx, RuntimeName)
	if err != nil {
		return nil, err
	}
	s.clock, err = device.Clock(library.Path)
	return s.clock, err
}

// prepareArm makes an arm. What the kernel or the toolchain is to blame for is part of the reply.
func (s *server) prepareArm(ctx context.Context, number int64, args backend.PrepareArgs) (backend.PrepareReply, error) {
	clock, err := s.clockOf(ctx)
	var missing *backend.Unavailable
	var build *BuildError
	if errors.As(err, &missing) || errors.As(err, &build) {
		return backend.PrepareReply{Status: op.StatusUnavailable, Message: err.Error()}, nil
	}
	if err != nil {
		return backend.PrepareReply{}, err
	}
	a := &arm{server: s, clock: clock, ruler: args.Ruler}
	if a.facts.Device, err = clock.Physics(); err == nil {
		a.timer, err = clock.Open()
	}
	var finding Finding
	if err == nil {
		if args.Ruler != "" {
			finding, err = a.prepareRuler(args)
		} else {
			finding, err = a.prepareCall(args)
		}
	}
	if err == nil && finding.Status == op.StatusUnknown {
		finding, err = a.capture(args.GraphNS)
	}
	if err == nil && finding.Status == op.StatusUnknown && a.facts.Mode == "graph" && args.Ruler == "" {
		a.facts.Kernels, err = a.timer.Kernels()
	}
	if err == nil && finding.Status == op.StatusUnknown {
		err = a.poison()
	}
	finding, err = failedArm(finding, err)
	if err != nil || finding.Status != op.StatusUnknown {
		if !finding.Dirty {
			a.free()
		}
		return backend.PrepareReply{Status: finding.Status, Message: finding.Message, Fatal: finding.Dirty}, err
	}
	if s.arms == nil {
		s.arms = map[int64]*arm{}
	}
	s.arms[number] = a
	return a.facts, nil
}

// failedArm turns errors that a kernel, not the harness, is to blame for into findings.
func failedArm(f Finding, err error) (Finding, error) {
	var full *OutOfMemory
	var lost *DeviceLost
	switch {
	case errors.As(err, &full):
		return Finding{Status: op.StatusOOM, Message: full.Message}, nil
	case errors.As(err, &lost):
		return Finding{Status: op.StatusCrash, Message: lost.Message, Dirty: true}, nil
	}
	return f, err
}

// rotation is how many sets a cold arm needs, so that the inputs of all together, and the outputs, do not fit into the L2 cache.
func rotation(cold bool, l2, in, out int64) int {
	if !cold {
		return 1
	}
	sets := int64(2)
	for _, bytes := range []int64{in, out} {
		if bytes > 0 {
			sets = max(sets, (backend.RotatedL2*l2+bytes-1)/bytes)
		}
	}
	return int(max(2, min(sets, backend.MostSets, backend.MostRotated/max(in+out, 1))))
}

// evened is how many sets a cold arm gets whose calls are not slow, where the cache alone asks for so many.
func evened(least int, l2, in, out int64) int {
	return max(least, int(min(backend.EvenSets, backend.EvenL2*l2/max(in+out, 1))))
}

// prepareCall makes the sets of a kernel's call and tries the first two of them.
func (a *arm) prepareCall(args backend.PrepareArgs) (Finding, error) {
	if args.Run == nil {
		return Finding{}, errors.New("prepare an arm: neither a run nor a ruler is given")
	}
	run := *args.Run
	k, err := a.server.find(run)
	if err == nil {
		err = a.server.checkTensors(run)
	}
	if err != nil {
		return Finding{}, err
	}
	var in, out int64
	for _, t := range run.Inputs {
		in += t.Bytes
	}
	for i, t := range run.Launches[0].Outputs {
		if k.gives(i) {
			out += t.Bytes
		}
	}
	sets := rotation(args.Cold, a.facts.Device.L2Bytes, in, out)
	if f, err := a.addSets(k, run, min(sets, 2)); err != nil || f.Status != op.StatusUnknown {
		return f, err
	}
	var tookNS int64
	for _, l := range []*launching{a.sets[0], a.sets[len(a.sets)-1]} { // the first may load code
		began := time.Now()
		if f, err := a.server.device.Launch(l.call, ""); err != nil || f.Status != op.StatusUnknown {
			return f, err
		}
		tookNS = time.Since(began).Nanoseconds()
	}
	sets = backend.SetsOfSlow(sets, tookNS, in+out)
	if args.Cold && tookNS < backend.SlowCallNS {
		sets = evened(sets, a.facts.Device.L2Bytes, in, out)
	}
	f, err := a.addSets(k, run, sets)
	a.facts.Sets, a.facts.RotatedBytes = sets, int64(sets)*min(in, out)
	return f, err
}

// addSets makes sets until there are so many. The first takes its inputs from the shared memory, the others theirs from the first.
func (a *arm) addSets(k *kernel, run backend.RunArgs, sets int) (Finding, error) {
	for len(a.sets) < sets {
		plan := backend.Launch{Poison: "b", Outputs: run.Launches[0].Outputs}
		if len(a.sets) == 0 {
			plan.Poison = "a"
		}
		l := &launching{server: a.server, kernel: k, args: run, plan: plan, call: newCall(k, run.Attrs, run.Inputs, plan.Outputs)}
		if len(a.sets) > 0 {
			l.copyOf = a.sets[0]
		}
		a.sets = append(a.sets, l)
		if err := l.prepare(); err != nil {
			return Finding{}, err
		}
		if why, ok, err := l.call.accepts(); err != nil {
			return Finding{}, err
		} else if !ok {
			return Finding{Status: op.StatusUnsupported, Message: why}, nil
		}
		// Calls follow each other on one stream: they share their scratch memory.
		if l.copyOf == nil {
			if err := l.prepareWorkspace(); err != nil {
				return Finding{}, err
			}
		} else {
			l.call.shareWorkspace(a.sets[0].call)
		}
		a.facts.PeakBytes += l.bytes
	}
	return Finding{}, nil
}

// rulerBytes is the size of each buffer of a ruler.
const rulerBytes = 256 << 20

// prepareRuler makes the buffers of a ruler.
func (a *arm) prepareRuler(args backend.PrepareArgs) (Finding, error) {
	if _, known := rulerNumbers[args.Ruler]; !known {
		return Finding{Status: op.StatusUnsupported, Message: "the CUDA worker has no ruler " + args.Ruler}, nil
	}
	a.facts.Bytes = rulerBytes
	if args.Ruler == backend.RulerCopy || args.Ruler == backend.RulerMemcpy {
		a.facts.Bytes *= 2
	}
	a.facts.Sets = rotation(args.Cold, a.facts.Device.L2Bytes, rulerBytes, rulerBytes)
	a.facts.RotatedBytes = int64(a.facts.Sets) * rulerBytes
	pattern := make([]byte, 1<<16)
	state := uint64(0x9E3779B97F4A7C15)
	for i := range pattern { // any bytes that are not all alike
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
		pattern[i] = byte(state)
	}
	for range a.facts.Sets {
		var pair [2]Buffer
		for i, name := range []string{"to", "from"} {
			b, err := a.server.device.Alloc("ruler "+name, rulerBytes)
			if err != nil {
				return Finding{}, err
			}
			pair[i] = b
			if err := a.server.device.Fill(b, pattern); err != nil {
				return Finding{}, err
			}
		}
		a.pairs = append(a.pairs, pair)
		a.facts.PeakBytes += 2 * rulerBytes
	}
	return Finding{}, nil
}

// launch queues the i-th call on the timer's stream.
func (a *arm) launch(i int) (Finding, error) {
	if a.ruler != "" {
		pair := a.pairs[i%len(a.pairs)]
		return Finding{}, a.clock.Ruler(a.ruler, pair[0], pair[1], a.timer.Stream())
	}
	return a.timer.Launch(a.sets[i%len(a.sets)].call), nil
}

func (a *arm) launches(n int) (Finding, error) {
	for i := range n {
		if f, err := a.launch(i); err != nil || f.Status != op.StatusUnknown {
			return f, err
		}
	}
	return Finding{}, nil
}

// capture makes the graph: of one call for each set, and of more where that takes less than graphNS. What cannot be captured is timed
// between events.
func (a *arm) capture(graphNS int64) (Finding, error) {
	a.facts.Mode, a.facts.Calls = "graph", a.facts.Sets
	f, err := a.captured()
	if err != nil || f.Status != op.StatusUnknown {
		var lost *DeviceLost
		if f.Status == op.StatusUnsupported || errors.As(err, &lost) {
			return f, err
		}
		return a.direct(f, err)
	}
	if err := a.estimate(); err != nil {
		return Finding{}, err
	}
	if turns := math.Ceil(float64(graphNS) / (a.facts.EstimateNS * float64(a.facts.Sets))); turns > 1 {
		a.facts.Calls = min(int(turns)*a.facts.Sets, max(a.facts.Sets, backend.MostCaptured/a.facts.Sets*a.facts.Sets))
		if f, err := a.captured(); err != nil || f.Status != op.StatusUnknown {
			return f, err
		}
		return Finding{}, a.estimate()
	}
	return Finding{}, nil
}

// captured captures Calls calls.
func (a *arm) captured() (Finding, error) {
	if err := a.timer.Begin(); err != nil {
		return Finding{}, err
	}
	f, err := a.launches(a.facts.Calls)
	nodes, endErr := a.timer.End(err == nil && f.Status == op.StatusUnknown)
	if err == nil && f.Status == op.StatusUnknown {
		err = endErr
	}
	if err == nil && f.Status == op.StatusUnknown && nodes < int64(a.facts.Calls) {
		f = Finding{Status: op.StatusUnsupported, Message: fmt.Sprintf("it cannot be timed: of %d calls only %d pieces of work are on the stream of the call",
			a.facts.Calls, nodes)}
	}
	return f, err
}

// direct is the way of a call that cannot be captured.
func (a *arm) direct(f Finding, err error) (Finding, error) {
	a.facts.Mode, a.facts.ModeReason = "events", f.Message
	if err != nil {
		a.facts.ModeReason = err.Error()
	}
	if f, err := a.launches(a.facts.Calls); err != nil || f.Status != op.StatusUnknown {
		return f, err
	}
	return Finding{}, a.estimate()
}

// estimate times two replays: the first may still load code.
func (a *arm) estimate() error {
	samples, err := a.replay(2)
	if err == nil {
		a.facts.EstimateNS = samples[1]
	}
	return err
}

// replay gives n samples, in ns a call.
func (a *arm) replay(n int) ([]float64, error) {
	samples := make([]float64, 0, n)
	if a.facts.Mode == "graph" {
		all, err := a.timer.Replay(n)
		if err != nil {
			return nil, err
		}
		samples = append(samples, all...)
	}
	for len(samples) < n {
		if err := a.timer.Start(); err != nil {
			return nil, err
		}
		if f, err := a.launches(a.facts.Calls); err != nil {
			return nil, err
		} else if f.Status != op.StatusUnknown {
			return nil, &DeviceLost{Message: f.Message}
		}
		ns, err := a.timer.Stop()
		if err != nil {
			return nil, err
		}
		samples = append(samples, ns)
	}
	for i := range samples {
		samples[i] /= float64(a.facts.Calls)
	}
	return samples, nil
}

// poison fills the outputs again, so that what is judged was written by a timed call.
func (a *arm) poison() error {
	for _, l := range a.sets {
		if err := l.poison(); err != nil {
			return err
		}
	}
	return nil
}

// time takes samples.
func (a *arm) time(args backend.TimeArgs) (backend.TimeReply, error) {
	if args.Samples < 1 || args.Samples > 10000 || args.Discard < 0 || args.Discard > 10000 {
		return backend.TimeReply{}, fmt.Errorf("time an arm: %d samples after %d, want 1 to 10000", args.Samples, args.Discard)
	}
	var err error
	if args.SettleNS > 0 {
		if a.facts.Mode == "graph" {
			err = a.timer.Settle(args.SettleNS)
		} else {
			_, err = a.replay(max(1, int(float64(args.SettleNS)/(a.facts.EstimateNS*float64(a.facts.Calls)))))
		}
	}
	var samples []float64
	if err == nil {
		samples, err = a.replay(args.Discard + args.Samples)
	}
	f, err := failedArm(Finding{}, err)
	if err != nil || f.Status != op.StatusUnknown {
		return backend.TimeReply{Status: f.Status, Message: f.Message, Fatal: f.Dirty}, err
	}
	return backend.TimeReply{SamplesNS: samples[args.Discard:]}, nil
}

// finish copies out what the timed calls wrote, compares the sets with each other and frees everything.
func (a *arm) finish(args backend.FinishArgs) (backend.FinishReply, error) {
	var reply backend.FinishReply
	err := a.collect(args, &reply)
	f, err := failedArm(Finding{}, err)
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

func (a *arm) collect(args backend.FinishArgs, reply *backend.FinishReply) error {
	if len(args.Launches) > 2 || len(args.Launches) > 0 && len(a.sets) == 0 {
		return fmt.Errorf("finish an arm of %d sets: %d launches are asked for", len(a.sets), len(args.Launches))
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

// compareSets tells of every output the first set in which its bits are not those of the first.
func (a *arm) compareSets(reply *backend.FinishReply) error {
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

// free gives all memory back. A guard that changed is an access out of bounds.
func (a *arm) free() Finding {
	if a.timer != nil {
		a.timer.Close()
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
