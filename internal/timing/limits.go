package timing

import (
	"strings"

	"triad/internal/backend"
	"triad/internal/stats"
)

// notePhysics keeps what any worker could read from the device.
func (t *Timer) notePhysics(p backend.DevicePhysics) {
	old := &t.physics
	old.L2Bytes = max(old.L2Bytes, p.L2Bytes)
	old.Multiprocessors = max(old.Multiprocessors, p.Multiprocessors)
	old.BytesPerSecond = max(old.BytesPerSecond, p.BytesPerSecond)
	old.ClockMHz = max(old.ClockMHz, p.ClockMHz)
	if p.Major > 0 {
		old.Major, old.Minor = p.Major, p.Minor
	}
}

// limits returns the rates that the device cannot exceed in products of a ceiling. FLOPs per multiprocessor
// and clock are known for compute capability 9.0 only: 4096 in 16 bits, 8192 in 8 bits, 2048 (TF32, which no
// contract here allows) in fp32.
func (t *Timer) limits(product string) stats.Limits {
	p := t.physics
	l := stats.Limits{Bytes: p.BytesPerSecond}
	if p.Major == 9 && p.Minor == 0 {
		of := map[string]float64{
			backend.CeilingFP8: 8192, backend.CeilingBF16: 4096,
			backend.CeilingFP32: 2048,
		}
		l.FLOPs = of[product] * float64(p.Multiprocessors) * p.ClockMHz * 1e6
	}
	return l
}

// limitsOf returns the limits of an implementation. If its data does not stay in the L2 cache between calls,
// the fastest ceiling limits its bandwidth too. A call that is spread over several devices has that of each.
func (t *Timer) limitsOf(k *timedImpl, product string) stats.Limits {
	l := t.limits(product)
	if k.candidate == nil {
		return l
	}
	facts := k.candidate.Facts()
	devices := max(1, facts.Devices)
	all, l2 := min(t.ceilings.Copy, t.ceilings.Read, t.ceilings.Write) > 0, t.physics.L2Bytes*int64(devices)
	if all && l2 > 0 && facts.RotatedBytes >= backend.RotatedL2*l2 {
		l.Measured = max(t.ceilings.Copy, t.ceilings.Read, t.ceilings.Write)
	}
	of := float64(devices)
	l.Bytes, l.Measured, l.FLOPs = l.Bytes*of, l.Measured*of, l.FLOPs*of
	return l
}

// Product returns the name of the ceiling for matrix products of a dtype. That of fp8 is int8's too: a GPU
// with both gives them the same rate, and torch's product of int8 reaches half of it.
func Product(dtype string) string {
	switch {
	case strings.HasPrefix(dtype, "e4m3"), strings.HasPrefix(dtype, "e5m2"), dtype == "int8":
		return backend.CeilingFP8
	case dtype == "fp32":
		return backend.CeilingFP32
	}
	return backend.CeilingBF16
}
