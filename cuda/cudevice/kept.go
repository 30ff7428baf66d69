package cudevice

import (
	"errors"
	"fmt"

	"triad/cuda/serve"
)

// spreads is the memory that lies on two devices, by the address of the buffer in it, and what was given back
// and may be used again: to map memory takes a millisecond.
type spreads struct {
	mapper serve.Mapper
	used   map[uintptr]mapping
	free   map[[2]int64][]uintptr // by the bytes on each device
}

// mapping is a range of addresses with the bytes that each device has of it.
type mapping struct {
	base  uintptr
	bytes [2]int64
}

// whyAlone returns why a run on one of so many visible GPUs has not two.
func whyAlone(visible int) string {
	if visible < 2 {
		return fmt.Sprintf("this run sees %d", visible)
	}
	return fmt.Sprintf("this run has one of %d, and --gpus 0,1 gives it two", visible)
}

// mostKept is the size above which a mapping is not kept for later, and how many of a size are.
const (
	mostKeptBytes = 64 << 20
	mostKept      = 64
)

// take returns a mapping of so many bytes on each device, one that was kept if there is any. The error is a
// *serve.OutOfMemory where there is no room.
func (s *spreads) take(bytes [2]int64) (m mapping, err error) {
	m.bytes = bytes
	if kept := s.free[bytes]; len(kept) > 0 {
		m.base, s.free[bytes] = kept[len(kept)-1], kept[:len(kept)-1]
		return m, nil
	}
	err = s.withRoom(func() (err error) {
		m.base, err = s.mapper.Map(bytes[0], bytes[1])
		return err
	})
	return m, err
}

// giveBack keeps a mapping for later, or unmaps it.
func (s *spreads) giveBack(m mapping) error {
	if m.bytes[0]+m.bytes[1] <= mostKeptBytes && len(s.free[m.bytes]) < mostKept {
		s.free[m.bytes] = append(s.free[m.bytes], m.base)
		return nil
	}
	return s.unmap(m)
}

// withRoom allocates; where there is no room, what is kept for later is unmapped, and it allocates again.
func (s *spreads) withRoom(allocate func() error) error {
	err := allocate()
	if full := (*serve.OutOfMemory)(nil); !errors.As(err, &full) || len(s.free) == 0 {
		return err
	}
	for bytes, kept := range s.free {
		for len(kept) > 0 {
			base := kept[len(kept)-1]
			kept = kept[:len(kept)-1]
			s.free[bytes] = kept // also of one that fails to be unmapped nothing is certain
			if err := s.unmap(mapping{base, bytes}); err != nil {
				return err
			}
		}
		delete(s.free, bytes)
	}
	return allocate()
}

func (s *spreads) unmap(m mapping) error { return s.mapper.Unmap(m.base, m.bytes[0]+m.bytes[1]) }
