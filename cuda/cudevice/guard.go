package cudevice

import (
	"triad/cuda/serve"
	"triad/internal/backend"
)

// guardBytes is the length of the canary on each side of a buffer: a multiple of every alignment that a
// kernel may ask for, and wide enough for a whole row of threads that writes one tile too far.
const guardBytes = 4096

// pageBytes is the size of a page of the GPU, and the alignment that cudaMalloc gives large buffers.
const pageBytes = 2 << 20

// leadBytes returns the distance from an allocation to the buffer within: a guard, and in front of large
// buffers a whole page. A large buffer is then aligned as by cudaMalloc. Kernels whose threads each read a
// row took 6 to 10 % longer where their tensors began 4 KiB into a page
// (results/published/lab/own_files.txt).
func leadBytes(bytes int64) int64 {
	if bytes >= pageBytes {
		return pageBytes
	}
	return guardBytes
}

// Watch is the tool of compute-sanitizer under which the process runs, "" for none. A tool sees every access
// beyond an allocation, but not one that ends in a guard: under any tool, buffers have none. initcheck sees
// reads of uninitialised memory: under it only inputs are filled.
type Watch string

// canaries holds the byte that fills the guards of each buffer, by the buffer's first address. With one byte
// for all of them, a copy that goes past the ends of both of its tensors would change nothing.
type canaries map[uintptr]byte

// kindsOfCanary counts the bytes that canaries chooses from. Four of them, or two, are a large number.
const kindsOfCanary = 64

// take gives a buffer the first canary that no other has, so that a launch finds the same ones when it is
// repeated.
func (c canaries) take(start uintptr) byte {
	taken := [256]bool{}
	for _, other := range c {
		taken[other] = true
	}
	for i := range kindsOfCanary {
		if chosen := canary(i); !taken[chosen] || i == kindsOfCanary-1 {
			c[start] = chosen
			break
		}
	}
	return c[start]
}

func canary(i int) byte { return 0xC0 | byte(3+11*i)%kindsOfCanary }

// guardReport compares the guards of a buffer with their canary; nil if no byte changed. The distance is that
// of the changed byte nearest to the buffer: counted from its end, or negative before its start. A write past
// the end takes precedence.
func guardReport(b serve.Buffer, canary byte, before, after []byte) *backend.GuardReport {
	report := backend.GuardReport{Buffer: b.Name}
	found := false
	for i := range after {
		if after[i] != canary {
			if !found {
				report.Bytes, found = int64(i), true
			}
			report.Count++
		}
	}
	for i := len(before) - 1; i >= 0; i-- {
		if before[i] != canary {
			if !found {
				report.Bytes, found = int64(i-len(before)), true
			}
			report.Count++
		}
	}
	if !found {
		return nil
	}
	return &report
}
