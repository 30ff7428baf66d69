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

// openSecond takes the second of several visible GPUs, too; why it cannot, in a sentence, is no error.
func (d *Device) openSecond() (why string, err error) {
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
		d.second, err = other.RetainPrimaryCtx()
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
	m, err := d.spread.take([2]int64{pages(guard + border), pages(max(bytes-border, 0) + guard)})
	if full := (*serve.OutOfMemory)(nil); errors.As(err, &full) {
		err = d.full(name, m.bytes[0]+m.bytes[1])
	}
	if err != nil {
		return serve.Buffer{}, err
	}
	b := serve.Buffer{Name: name, Pointer: m.base + uintptr(m.bytes[0]-border), Bytes: bytes}
	d.spread.used[b.Pointer] = m
	return b, d.guard(b, guard)
}

// pages rounds bytes up to whole pages, one at least.
func pages(bytes int64) int64 { return max(1, (bytes+pageBytes-1)/pageBytes) * pageBytes }

// synchronizeSecond waits for the second device.
func (d *Device) synchronizeSecond() error {
	if d.spread.used == nil {
		return nil
	}
	err := cu.SetCurrentContext(d.second)
	if err == nil {
		err = cu.Synchronize()
	}
	if back := cu.SetCurrentContext(d.context); err == nil {
		err = back
	}
	return err
}
