package serve

import (
	"hash/crc32"
	"testing"
)

// memoryOf is a device whose only buffer lies at an address of its own.
type memoryOf struct {
	Device
	base    uintptr
	content []byte
}

func (d memoryOf) CopyOut(to []byte, from Buffer) error {
	copy(to, d.content[from.Pointer-d.base:][:from.Bytes])
	return nil
}

// The checksum of an input covers all its bytes, whatever the pieces.
func TestHashInputs(t *testing.T) {
	for _, bytes := range []int64{
		0, 1, pieceBytes - 1, pieceBytes, pieceBytes + 1, 2*pieceBytes + 12345,
		5 * pieceBytes,
	} {
		content := make([]byte, bytes)
		for i := range content {
			content[i] = byte(i*7 + i>>13)
		}
		const base = 0x7f0000001000
		l := &launching{
			server: &server{device: memoryOf{base: base, content: content}},
			inputs: []Buffer{{"x", base, bytes}, {"x again", base, bytes / 2}},
		}
		sums, err := l.hashInputs()
		if err != nil || sums[0] != crc32.ChecksumIEEE(content) ||
			sums[1] != crc32.ChecksumIEEE(content[:bytes/2]) {
			t.Errorf("%d bytes: %08x, %v", bytes, sums, err)
		}
		for _, scratch := range l.server.scratch {
			if len(scratch) > pieceBytes {
				t.Errorf("%d bytes of scratch", len(scratch))
			}
		}
	}
}
