package serve

import (
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"time"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/panics"
	"triad/internal/tensor"
)

// run makes every launch of a case, until one does not return normally.
func (s *server) run(r backend.RunArgs) (backend.RunReply, error) {
	k, err := s.find(r)
	if err != nil {
		return backend.RunReply{}, err
	}
	if err := s.checkTensors(r); err != nil {
		return backend.RunReply{}, err
	}
	var reply backend.RunReply
	for _, launch := range r.Launches {
		l := &launching{server: s, kernel: k, args: r, plan: launch}
		began := time.Now()
		one, dirty, err := l.run()
		reply.WallNS += time.Since(began).Nanoseconds()
		var lost *DeviceLost
		if err == nil && one.Status == op.StatusOutOfBounds && one.Where == nil {
			l.findThread(&one)
		}
		if errors.As(err, &lost) {
			one, dirty, err = backend.LaunchReply{Status: op.StatusCrash, Message: err.Error()}, true, nil
		}
		if err != nil {
			return backend.RunReply{}, fmt.Errorf("run %s %s: %w", r.Op, r.Implementation, err)
		}
		reply.Launches = append(reply.Launches, one)
		reply.PeakBytes = max(reply.PeakBytes, l.bytes)
		reply.Fatal = dirty
		if one.Status != op.StatusUnknown {
			break
		}
	}
	return reply, nil
}

// checkTensors proves that every tensor lies in the shared memory, and every element in its storage.
func (s *server) checkTensors(r backend.RunArgs) error {
	if len(r.Launches) == 0 {
		return errors.New("a run without a launch")
	}
	for _, t := range r.Inputs {
		storage, err := s.storage(t)
		if err != nil {
			return err
		}
		if err := checkView(t); err != nil {
			return err
		}
		if sum := tensor.Checksum(storage); sum != t.CRC32 {
			return fmt.Errorf("tensor %s: crc32 %08x in the shared memory, %08x announced",
				t.Name, sum, t.CRC32)
		}
	}
	for _, launch := range r.Launches {
		if !slices.Contains([]string{"a", "b", tensor.Ordinary}, launch.Poison) {
			return fmt.Errorf("poison %q: want a, b or %s", launch.Poison, tensor.Ordinary)
		}
		for _, t := range launch.Outputs {
			if _, err := s.storage(t); err != nil {
				return err
			}
			if err := checkView(t); err != nil {
				return err
			}
			if t.Start != 0 || !slices.Equal(t.Stride, tensor.Contiguous(t.Shape)) && t.Bytes > 0 {
				return fmt.Errorf("output %s: start %d, strides %v, want a contiguous tensor", t.Name,
					t.Start, t.Stride)
			}
		}
	}
	return nil
}

// checkView proves that the elements of a view lie in its storage.
func checkView(t backend.TensorRef) error {
	size := t.DType.Size()
	if size == 0 || len(t.Shape) > maxRank || len(t.Stride) != len(t.Shape) || t.Start < 0 {
		return fmt.Errorf("tensor %s: dtype %s, shape %v, strides %v, start %d: want a known dtype, at "+
			"most %d dims, a stride for each",
			t.Name, t.DType, t.Shape, t.Stride, t.Start, maxRank)
	}
	empty := slices.Contains(t.Shape, 0)
	elements := t.Bytes / size
	last := t.Start
	for i, n := range t.Shape {
		stride := t.Stride[i]
		if n < 0 || stride < 0 || !empty && n > 1 && stride > 0 && (n-1 > elements/stride ||
			last > elements) {
			return fmt.Errorf("tensor %s: shape %v with strides %v does not fit its storage of %d elements",
				t.Name, t.Shape, t.Stride, elements)
		}
		if !empty {
			last += (n - 1) * stride
		}
	}
	if !empty && last >= elements {
		return fmt.Errorf("tensor %s: its last element is number %d of a storage of %d", t.Name,
			last, elements)
	}
	return nil
}

// launching is one launch of a kernel with fresh memory.
type launching struct {
	server *server
	kernel *kernel
	args   backend.RunArgs
	plan   backend.Launch
	// a launching with the same arguments on a Clocked device, whose inputs this one copies; nil: they come
	// from the shared memory
	copyOf  *launching
	call    *Call
	inputs  []Buffer
	outputs []Buffer // of zero size for an output that the kernel does not give
	all     []Buffer
	bytes   int64
}

// run makes the launch. dirty reports that the process can no longer be trusted.
func (l *launching) run() (reply backend.LaunchReply, dirty bool, err error) {
	device := l.server.device
	if arranged, can := device.(Arranged); can {
		if err := arranged.Arrange(l.plan.Place, l.plan.Poison); err != nil {
			return reply, false, err
		}
	}
	l.call = newCall(l.kernel, l.args.Attrs, l.args.Inputs, l.plan.Outputs)
	l.call.say(l.args.Words)
	defer l.call.free()
	defer func() {
		if !dirty { // an aborted launch may still use its memory
			l.release(&reply, &dirty)
		}
	}()
	var full *OutOfMemory
	if err := l.prepare(); errors.As(err, &full) {
		return backend.LaunchReply{Status: op.StatusOOM, Message: full.Message}, false, nil
	} else if err != nil {
		return reply, false, err
	}
	if l.plan.Place == backend.PlaceExactEnd {
		// no caller has such addresses
	} else if why, ok, err := l.call.accepts(); err != nil {
		return reply, false, err
	} else if !ok {
		return backend.LaunchReply{Status: op.StatusUnsupported, Message: why}, false, nil
	}
	if err := l.prepareWorkspace(); errors.As(err, &full) {
		return backend.LaunchReply{Status: op.StatusOOM, Message: full.Message}, false, nil
	} else if err != nil {
		return backend.LaunchReply{Status: op.StatusCrash, Message: err.Error()}, true, nil
	}
	finding, err := device.Launch(l.call, l.plan.Order)
	if err != nil {
		return reply, false, err
	}
	reply = backend.LaunchReply{Status: finding.Status, Message: finding.Message, Where: finding.Where}
	if finding.Status != op.StatusUnknown {
		return reply, finding.Dirty, nil
	}
	if reply.Inputs, err = l.hashInputs(); err != nil {
		return reply, false, err
	}
	reply.Outputs, err = l.collect()
	return reply, false, err
}

// findThread repeats a launch that wrote outside of a buffer, to find the thread: if inaccessible memory
// follows the buffer directly, the write itself stops. The process is not used for anything else afterwards.
func (l *launching) findThread(found *backend.LaunchReply) {
	if _, can := l.server.device.(Arranged); !can {
		return
	}
	for _, place := range []string{backend.PlaceExactEnd, backend.PlaceExactBegin} {
		again := &launching{server: l.server, kernel: l.kernel, args: l.args, plan: l.plan}
		again.plan.Place = place
		reply, dirty, err := again.run()
		if err == nil && reply.Status == op.StatusOutOfBounds && reply.Where != nil {
			found.Message, found.Where = reply.Message, reply.Where
		}
		if err != nil || dirty && reply.Where != nil {
			return
		}
	}
}

// alloc allocates memory that release frees. places is the length of its first dim: of a kernel that is
// spread over two devices the first half of them, one longer where they are odd, lies on the first.
func (l *launching) alloc(name string, bytes, places int64) (b Buffer, err error) {
	border := bytes / max(places, 1) * (places - places/2)
	if b, err = l.server.alloc(name, bytes, border, l.kernel.devices); err == nil {
		l.all = append(l.all, b)
		l.bytes += bytes
	}
	return b, err
}

// alloc allocates memory on so many devices; that from border on lies on the second of two.
func (s *server) alloc(name string, bytes, border int64, devices int) (Buffer, error) {
	if spread, can := s.device.(Spread); can && devices > 1 {
		return spread.AllocSpread(name, bytes, border)
	}
	return s.device.Alloc(name, bytes)
}

// prepare fills inputs with their contents and outputs with the poison.
func (l *launching) prepare() error {
	for i, t := range l.args.Inputs {
		b, err := l.alloc(t.Name, t.Bytes, placesOf(t))
		if err != nil {
			return err
		}
		if err := l.fill(b, i); err != nil {
			return err
		}
		l.inputs = append(l.inputs, b)
		place(&l.call.in[i], b.Pointer+uintptr(t.Start*t.DType.Size()))
	}
	for i, t := range l.plan.Outputs {
		if !l.kernel.gives(i) {
			l.outputs = append(l.outputs, Buffer{})
			continue
		}
		b, err := l.alloc(t.Name, t.Bytes, placesOf(t))
		if err != nil {
			return err
		}
		l.outputs = append(l.outputs, b)
		place(&l.call.out[i], b.Pointer)
	}
	return l.poison()
}

// placesOf returns the length of a tensor's first dim.
func placesOf(t backend.TensorRef) int64 {
	if len(t.Shape) == 0 {
		return 1
	}
	return t.Shape[0]
}

// fill fills the i-th input.
func (l *launching) fill(b Buffer, i int) error {
	if l.copyOf != nil {
		return l.server.device.(Clocked).Copy(b, l.copyOf.inputs[i])
	}
	storage, err := l.server.storage(l.args.Inputs[i])
	if err != nil {
		return err
	}
	return l.server.device.CopyIn(b, storage)
}

// poison fills all outputs.
func (l *launching) poison() error {
	if unfilled(l.server.device) {
		return nil
	}
	for i, t := range l.plan.Outputs {
		if !l.kernel.gives(i) {
			continue
		}
		if err := l.server.device.Fill(l.outputs[i], tensor.PoisonPattern(t.DType,
			l.plan.Poison)); err != nil {
			return err
		}
	}
	return nil
}

// workspaceFills gives the byte that fills a workspace; the floats are then NaN, large numbers, or numbers
// near 1.
var workspaceFills = map[string]byte{"a": 0xFF, "b": 0x7F, tensor.Ordinary: 0x3F}

// prepareWorkspace allocates the scratch memory that the kernel asks for.
func (l *launching) prepareWorkspace() error {
	bytes, err := l.call.workspace()
	if err != nil || bytes == 0 {
		return err
	}
	b, err := l.alloc("workspace", bytes, bytes)
	if err != nil {
		return err
	}
	l.call.setWorkspace(b)
	if unfilled(l.server.device) {
		return nil
	}
	return l.server.device.Fill(b, []byte{workspaceFills[l.plan.Poison]})
}

// pieceBytes is the size of the pieces in which an input is read back: fresh memory for every launch costs
// more than the copy.
const pieceBytes = 8 << 20

// piece returns one of two buffers of the server, of at most pieceBytes.
func (s *server) piece(which int, bytes int64) []byte {
	if int64(len(s.scratch[which])) < bytes {
		s.scratch[which] = make([]byte, bytes)
	}
	return s.scratch[which][:bytes]
}

// hashInputs returns the checksum of each input's storage after the launch. It hashes one piece while it
// reads the next.
func (l *launching) hashInputs() ([]uint32, error) {
	sums := make([]uint32, len(l.inputs))
	for i, b := range l.inputs {
		sum := crc32.NewIEEE()
		var adding panics.Group
		defer adding.Wait()
		for at := int64(0); at < b.Bytes; at += pieceBytes {
			piece := l.server.piece(int(at/pieceBytes%2), min(pieceBytes, b.Bytes-at))
			part := Buffer{Name: b.Name, Pointer: b.Pointer + uintptr(at), Bytes: int64(len(piece))}
			if err := l.server.device.CopyOut(piece, part); err != nil {
				return nil, fmt.Errorf("read input %s back: %w", b.Name, err)
			}
			if err := adding.Wait(); err != nil {
				return nil, err
			}
			adding.Go(func() { sum.Write(piece) })
		}
		if err := adding.Wait(); err != nil {
			return nil, err
		}
		sums[i] = sum.Sum32()
	}
	return sums, nil
}

// collect copies the outputs into the shared memory.
func (l *launching) collect() ([]backend.OutputRef, error) {
	var refs []backend.OutputRef
	for i, t := range l.plan.Outputs {
		if !l.kernel.gives(i) {
			refs = append(refs, backend.OutputRef{Name: t.Name})
			continue
		}
		storage, err := l.server.storage(t)
		if err != nil {
			return nil, err
		}
		if err := l.server.device.CopyOut(storage, l.outputs[i]); err != nil {
			return nil, fmt.Errorf("read output %s: %w", t.Name, err)
		}
		refs = append(refs, backend.OutputRef{
			Name: t.Name, Present: true, DType: t.DType.String(), Shape: t.Shape, Stride: t.Stride,
			CRC32: tensor.Checksum(storage),
		})
	}
	return refs, nil
}

// release frees all memory. Changed guards are an access out of bounds, whatever else was found.
func (l *launching) release(reply *backend.LaunchReply, dirty *bool) {
	for _, b := range l.all {
		if report := l.server.device.Free(b); report != nil {
			reply.Guards = append(reply.Guards, *report)
		}
	}
	if len(reply.Guards) == 0 {
		return
	}
	first := reply.Guards[0]
	reply.Status, *dirty = op.StatusOutOfBounds, true
	side := fmt.Sprintf("%d bytes past the end of %s, the first of them", first.Count, first.Buffer)
	distance, neighbour := first.Bytes, "right behind it"
	if first.Bytes < 0 {
		side = fmt.Sprintf("%d bytes before the start of %s, the nearest of them", first.Count, first.Buffer)
		distance, neighbour = -first.Bytes-1, "right in front of it"
	}
	if distance > 0 {
		neighbour = fmt.Sprintf("%d bytes away", distance)
	}
	reply.Message = fmt.Sprintf("%s changed %s %s", l.kernel.Name, side, neighbour)
}
