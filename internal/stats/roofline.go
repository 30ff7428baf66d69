package stats

import (
	"fmt"
	"math"
)

// Ceilings are the rates that the device reached in the same session, per second; 0 is not measured.
type Ceilings struct {
	Copy, Read, Write float64 // bytes moved: a copy counts what it reads and what it writes
	// floating-point operations of a matrix product, by the dtype of its operands
	Products map[string]float64
}

// Work is the minimum work of an operator by its definition, whatever an implementation does beyond it.
type Work struct {
	Bytes, FLOPs int64
	// The part of Bytes that is moved whatever a forward saves: upstream gradients and results. An
	// implementation that chooses what it saves may save a mask of one bit for an element of the definition.
	Unavoidable             int64
	BytesRead, BytesWritten int64  // sizes of inputs and outputs: how Bytes divide into reads and writes
	Product                 string // whose ceiling the FLOPs are measured with
}

// littleArithmetic is the number of floating-point operations per byte up to which moving the byte takes
// longer, whatever the product. An H200's fp32 units, the slowest, do 15 while it copies a byte.
const littleArithmetic = 8

// Floor returns the shortest time that the ceilings allow, in ns: the larger of moving the bytes and
// computing. It is NaN if one that may be the larger was not measured.
func (r Ceilings) Floor(w Work) float64 {
	product := r.Products[w.Product]
	if w.Bytes > 0 && r.Copy <= 0 || product <= 0 && w.FLOPs > littleArithmetic*w.Bytes {
		return math.NaN()
	}
	return floorOf(r.move(w), float64(w.FLOPs)/product*1e9)
}

func floorOf(move, compute float64) float64 {
	if math.IsInf(compute, 0) || math.IsNaN(compute) {
		compute = 0
	}
	if move = math.Max(move, compute); move > 0 && !math.IsInf(move, 0) {
		return move
	}
	return math.NaN()
}

// move returns the time to move the bytes, in ns: as much as is both read and written goes at the rate of a
// copy, the rest at that of reading or writing alone.
func (r Ceilings) move(w Work) float64 {
	total := float64(w.BytesRead + w.BytesWritten)
	if r.Copy <= 0 || total <= 0 {
		return 0
	}
	paired := 2 * float64(min(w.BytesRead, w.BytesWritten))
	rest, rate := total-paired, r.Read
	if w.BytesWritten > w.BytesRead {
		rate = r.Write
	}
	if rate <= 0 {
		rate = r.Copy
	}
	return (paired/r.Copy + rest/rate) * float64(w.Bytes) / total * 1e9
}

// Limits holds the rates, per second, that the device cannot exceed by its widths and its highest clocks; 0:
// not known.
type Limits struct {
	Bytes float64
	// the highest rate measured in this session; 0 if data may have stayed in the L2 cache
	Measured float64
	FLOPs    float64 // of the widest format: a looser limit for the others
}

// tolerance is the factor by which a rate may exceed the limits before its time is called impossible: timers
// and clocks are read with an error.
const tolerance = 1.05

// aboveMeasured is the factor by which a rate may exceed the measured one: the best of the kernels that are
// known to be right, a sum backward, which only writes, reached 1.02 of the best ceiling.
const aboveMeasured = 1.07

// Impossible reports whether a cold time, in ns, is shorter than the limits allow, and why.
func (l Limits) Impossible(median float64, w Work) (why string, impossible bool) {
	if !(median > 0) {
		return "it took no time at all", true
	}
	if rate := float64(w.Bytes) / median * 1e9; l.Bytes > 0 && rate > tolerance*l.Bytes {
		return "it would move more bytes than the memory's width and clock can", true
	}
	if rate := float64(w.Bytes) / median * 1e9; l.Measured > 0 && rate > aboveMeasured*l.Measured {
		return fmt.Sprintf("it would move %.2f TB/s to and from memory, where at most %.2f were measured",
			rate/1e12, l.Measured/1e12), true
	}
	if rate := float64(w.FLOPs) / median * 1e9; l.FLOPs > 0 && rate > tolerance*l.FLOPs {
		return "it would compute more than all multiprocessors can at their highest clock", true
	}
	return "", false
}
