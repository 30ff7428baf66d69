package cuda

import (
	"bytes"
	"testing"
)

// __byte_perm ignores the fourth bit of each half of its selector: the compiler masks it, as the PTX of a
// call shows ("and.b32 %r2, %r1, 30583"). prmt itself replicates the chosen byte's highest bit if it is set.
func TestEmulatorChoosesBytes(t *testing.T) {
	t.Parallel()
	out, status := runEmulated(t, "forward", newEmulated(t, "g++", "-O2").buildWithKernels(t, "bytes.cu"))
	if status != 0 || len(out) != 8*65536 {
		t.Fatalf("status %d, %d bytes", status, len(out))
	}
	table := [8]byte{0x80, 0x81, 0x82, 0x03, 0x04, 0xc5, 0x06, 0x87}
	for selector := range 65536 {
		var plain, signed [4]byte
		for i := range 4 {
			half := selector >> (4 * i) & 15
			plain[i] = table[half&7]
			signed[i] = plain[i]
			if half&8 != 0 {
				signed[i] = byte(int8(plain[i]) >> 7)
			}
		}
		at := []byte(out[8*selector:])
		if !bytes.Equal(at[:4], plain[:]) || !bytes.Equal(at[4:8], signed[:]) {
			t.Fatalf("selector %#x chooses %x and %x, want %x and %x, lowest byte first", selector, at[:4],
				at[4:8], plain, signed)
		}
	}
}
