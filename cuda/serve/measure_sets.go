package serve

import (
	"errors"
	"time"

	"triad/internal/backend"
	"triad/internal/op"
)

// rotation returns the number of sets that a cold candidate needs, so that neither all inputs together nor
// all outputs fit into the L2 cache.
func rotation(cold bool, l2, in, out int64) int {
	if !cold {
		return 1
	}
	sets := int64(2)
	if bytes := backend.Rotated(in, out); bytes > 0 {
		sets = max(sets, (backend.RotatedL2*l2+bytes-1)/bytes)
	}
	return int(max(2, min(sets, backend.MostSets, backend.MostRotated/max(in+out, 1))))
}

// evened returns the number of sets of a cold candidate whose calls are not slow; the cache alone requires
// least.
func evened(least int, l2, in, out int64) int {
	return max(least, int(min(backend.EvenSets, backend.EvenL2*l2/max(in+out, 1))))
}

// prepareCall makes the sets of a kernel's call and tries the first two of them.
func (a *candidate) prepareCall(args backend.PrepareArgs) (Finding, error) {
	if args.Run == nil {
		return Finding{}, errors.New("prepare a candidate: neither a run nor a ceiling is given")
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
	l2 := a.facts.Device.L2Bytes * int64(a.facts.Devices)
	sets := rotation(args.Cold, l2, in, out)
	if f, err := a.addSets(k, run, min(sets, 2)); err != nil || f.Status != op.StatusUnknown {
		return f, err
	}
	var tookNS int64
	for _, l := range []*launching{a.sets[0], a.sets[len(a.sets)-1]} { // the first may load code
		began, before := time.Now(), a.seen().Launches
		if f, err := a.server.device.Launch(l.call, ""); err != nil || f.Status != op.StatusUnknown {
			return f, err
		}
		tookNS, a.perCall = time.Since(began).Nanoseconds(), a.seen().Launches-before
	}
	sets = backend.SetsOfSlow(sets, tookNS, in+out)
	if args.Cold && tookNS < backend.SlowCallNS {
		sets = evened(sets, l2, in, out)
	}
	f, err := a.addSets(k, run, sets)
	a.facts.Sets, a.facts.RotatedBytes = sets, int64(sets)*backend.Rotated(in, out)
	return f, err
}

// addSets adds sets up to a number. The first takes its inputs from the shared memory, the others copy the
// first.
func (a *candidate) addSets(k *kernel, run backend.RunArgs, sets int) (Finding, error) {
	for len(a.sets) < sets {
		plan := backend.Launch{Poison: "b", Outputs: run.Launches[0].Outputs}
		if len(a.sets) == 0 {
			plan.Poison = "a"
		}
		l := &launching{server: a.server, kernel: k, args: run, plan: plan, call: newCall(k, run.Attrs,
			run.Inputs, plan.Outputs)}
		l.call.say(run.Words)
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
		// Calls follow each other on one stream, so the sets share their scratch memory.
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

// others queues the copy that begins a measurement with Others, in buffers that the worker makes once for
// each number of devices: each device has its share of them, which goes through its own cache.
func (a *candidate) others() error {
	s, devices := a.server, max(1, a.facts.Devices)
	for len(s.others[devices]) < 2 {
		share := backend.OthersL2 * a.facts.Device.L2Bytes
		b, err := s.alloc("others", share*int64(devices), share, devices)
		if err != nil {
			return err
		}
		if s.others == nil {
			s.others = map[int][]Buffer{}
		}
		s.others[devices] = append(s.others[devices], b)
	}
	pair := s.others[devices]
	return a.clock.Ceiling(backend.CeilingMemcpy, pair[0], pair[1], a.timer.Stream())
}

// ceilingBytes is the size of each buffer of a ceiling.
const ceilingBytes = 256 << 20

// prepareCeiling makes the buffers of a ceiling.
func (a *candidate) prepareCeiling(args backend.PrepareArgs) (Finding, error) {
	if _, known := ceilingNumbers[args.Ceiling]; !known {
		return Finding{Status: op.StatusUnsupported, Message: "the CUDA worker has no ceiling " +
				args.Ceiling},
			nil
	}
	a.facts.Bytes = ceilingBytes
	if args.Ceiling == backend.CeilingCopy || args.Ceiling == backend.CeilingMemcpy {
		a.facts.Bytes *= 2
	}
	a.facts.Sets = rotation(args.Cold, a.facts.Device.L2Bytes, ceilingBytes, ceilingBytes)
	a.facts.RotatedBytes = int64(a.facts.Sets) * ceilingBytes
	pattern := make([]byte, 1<<16)
	state := uint64(0x9E3779B97F4A7C15)
	for i := range pattern { // any bytes that are not all equal
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
		pattern[i] = byte(state)
	}
	for range a.facts.Sets {
		var pair [2]Buffer
		for i, name := range []string{"to", "from"} {
			b, err := a.server.device.Alloc("ceiling "+name, ceilingBytes)
			if err != nil {
				return Finding{}, err
			}
			pair[i] = b
			if err := a.server.device.Fill(b, pattern); err != nil {
				return Finding{}, err
			}
		}
		a.pairs = append(a.pairs, pair)
		a.facts.PeakBytes += 2 * ceilingBytes
	}
	return Finding{}, nil
}
