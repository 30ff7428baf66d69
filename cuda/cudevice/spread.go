//go:build cuda

package cudevice

import (
	"context"
	"errors"
	"fmt"

	"gorgonia.org/cu"

	"triad/cuda/build"
	"triad/cuda/serve"
)

// spreads is the memory that lies on two devices, by the address of the buffer in it, and what was given back
// and may be used again: to map memory takes a millisecond.
type spreads struct {
	second cu.CUContext // of device 1
	mapper serve.Mapper
	used   map[uintptr]mapping
	free   map[[2]int64][]uintptr // by the bytes on each device
}

// mapping is a range of addresses with the bytes that each device has of it.
type mapping struct {
	base  uintptr
	bytes [2]int64
}

// mostKept is the size above which a mapping is not kept for later, and how many of a size are.
const (
	mostKeptBytes = 64 << 20
	mostKept      = 64
)

// openSecond takes the second visible GPU, too; why it cannot, in a sentence, is no error.
func (d *Device) openSecond() (why string, err error) {
	all, err := cu.NumDevices()
	if err != nil {
		return "", fmt.Errorf("count the GPUs: %w", named(err))
	}
	if all < 2 {
		return fmt.Sprintf("there is %d here", all), nil
	}
	library, err := d.libraries.Kernels(context.Background(), build.RuntimeName)
	if err != nil {
		return "the runtime library is not here: " + err.Error(), nil
	}
	if d.spread.mapper, err = serve.OpenMapper(library.Path); err != nil {
		return "", err
	}
	if can, err := d.spread.mapper.Can(); err != nil {
		return "", err
	} else if !can {
		return "the two here do not", nil
	}
	other, err := cu.GetDevice(1)
	if err == nil {
		d.spread.second, err = other.RetainPrimaryCtx()
	}
	if err != nil {
		return "", fmt.Errorf("use the second GPU: %w", named(err))
	}
	d.spread.used, d.spread.free = map[uintptr]mapping{}, map[[2]int64][]uintptr{}
	return "", nil
}

// Spread returns how many GPUs a call may be spread over, and why it is not two.
func (d *Device) Spread() (devices int, why string) {
	if d.spread.used == nil {
		return 1, d.alone
	}
	return 2, ""
}

// AllocSpread allocates memory of which bytes from border on, rounded up to 256, lie on the second device.
// The buffer begins where that border is one of pages.
func (d *Device) AllocSpread(name string, bytes, border int64) (serve.Buffer, error) {
	border = (border + 255) / 256 * 256
	guard := d.guardOf()
	m := mapping{bytes: [2]int64{pages(guard + border), pages(max(bytes-border, 0) + guard)}}
	if kept := d.spread.free[m.bytes]; len(kept) > 0 {
		m.base, d.spread.free[m.bytes] = kept[len(kept)-1], kept[:len(kept)-1]
	} else if err := d.mapPages(name, &m); err != nil {
		return serve.Buffer{}, err
	}
	b := serve.Buffer{Name: name, Pointer: m.base + uintptr(m.bytes[0]-border), Bytes: bytes}
	d.spread.used[b.Pointer] = m
	return b, d.guard(b, guard)
}

// pages rounds bytes up to whole pages, one at least.
func pages(bytes int64) int64 { return max(1, (bytes+pageBytes-1)/pageBytes) * pageBytes }

// mapPages maps memory; what is kept for later is given back where there is no room.
func (d *Device) mapPages(name string, m *mapping) (err error) {
	for {
		var full *serve.OutOfMemory
		m.base, err = d.spread.mapper.Map(m.bytes[0], m.bytes[1])
		if !errors.As(err, &full) {
			return err
		}
		if len(d.spread.free) == 0 {
			return d.full(name, m.bytes[0]+m.bytes[1])
		}
		for bytes, kept := range d.spread.free {
			for _, base := range kept {
				if err := d.unmap(mapping{base, bytes}); err != nil {
					return err
				}
			}
		}
		clear(d.spread.free)
	}
}

func (d *Device) unmap(m mapping) error { return d.spread.mapper.Unmap(m.base, m.bytes[0]+m.bytes[1]) }

// freeSpread gives memory on two devices back.
func (d *Device) freeSpread(b serve.Buffer, m mapping) error {
	delete(d.spread.used, b.Pointer)
	if m.bytes[0]+m.bytes[1] <= mostKeptBytes && len(d.spread.free[m.bytes]) < mostKept {
		d.spread.free[m.bytes] = append(d.spread.free[m.bytes], m.base)
		return nil
	}
	return d.unmap(m)
}

// synchronizeSecond waits for the second device.
func (d *Device) synchronizeSecond() error {
	if d.spread.used == nil {
		return nil
	}
	err := cu.SetCurrentContext(d.spread.second)
	if err == nil {
		err = cu.Synchronize()
	}
	if back := cu.SetCurrentContext(d.context); err == nil {
		err = back
	}
	return err
}
