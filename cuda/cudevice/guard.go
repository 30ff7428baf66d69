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

// canary fills the guards.
const canary = 0xC3

// guardReport compares the guards of a buffer with the canary; nil if no byte changed. The distance is that
// of the changed byte nearest to the buffer: counted from its end, or negative before its start. A write past
// the end takes precedence.
func guardReport(b serve.Buffer, before, after []byte) *backend.GuardReport {
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
