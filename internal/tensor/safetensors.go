package tensor

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"

	"triad/internal/op"
)

var safetensorsNames = map[op.DType]string{
	op.FP64: "F64", op.FP32: "F32", op.FP16: "F16", op.BF16: "BF16", op.E4M3: "F8_E4M3", op.E5M2: "F8_E5M2",
	op.I64: "I64", op.I32: "I32", op.I8: "I8", op.U8: "U8", op.Bool: "BOOL",
	op.U32: "U32", op.E2M1x2: "F4",
}

// Packed returns the bytes of the view's elements in logical row-major order: Data itself if it holds just
// these.
func (t Tensor) Packed() []byte {
	size, n := t.DType.Size(), t.Elements()
	if t.IsContiguous() {
		return t.Data[min(t.Offset*size, int64(len(t.Data))):][:n*size]
	}
	out := make([]byte, n*size)
	t.walk(func(i, at int64) { copy(out[i*size:(i+1)*size], t.Data[at*size:]) })
	return out
}

// WriteSafetensors writes tensors and texts about them in the safetensors format, strided views packed. Names
// must differ.
func WriteSafetensors(w io.Writer, tensors []Tensor, metadata map[string]string) error {
	header := []byte("{")
	entry := func(name string, value any) error {
		key, err := json.Marshal(name)
		if err != nil {
			return err
		}
		text, err := json.Marshal(value)
		if len(header) > 1 {
			header = append(header, ',')
		}
		header = append(append(append(header, key...), ':'), text...)
		return err
	}
	if len(metadata) > 0 {
		if err := entry("__metadata__", metadata); err != nil {
			return fmt.Errorf("write safetensors: %w", err)
		}
	}
	seen, at := map[string]bool{"__metadata__": true, "": true}, int64(0)
	for _, t := range tensors {
		if err := t.Check(); err != nil {
			return fmt.Errorf("write safetensors: %w", err)
		}
		if seen[t.Name] || !utf8.ValidString(t.Name) {
			return fmt.Errorf("write safetensors: tensor %q: want a name in UTF-8 that no other has", t.Name)
		}
		seen[t.Name] = true
		end := at + t.Elements()*t.DType.Size()
		value := safetensorsEntry{
			DType: safetensorsNames[t.DType], Shape: append([]int64{}, t.Shape...),
			Offsets: [2]int64{at, end},
		}
		if last := len(t.Shape) - 1; t.DType == op.E2M1x2 && last >= 0 {
			value.Shape[last] *= 2 // the format counts the numbers, two a byte
		}
		if err := entry(t.Name, value); err != nil {
			return fmt.Errorf("write safetensors: %w", err)
		}
		at = end
	}
	header = append(header, '}')
	for len(header)%8 != 0 {
		header = append(header, ' ')
	}
	if _, err := w.Write(append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))),
		header...)); err != nil {
		return fmt.Errorf("write safetensors: %w", err)
	}
	for _, t := range tensors {
		if _, err := w.Write(t.Packed()); err != nil {
			return fmt.Errorf("write safetensors: tensor %s: %w", t.Name, err)
		}
	}
	return nil
}

type safetensorsEntry struct {
	DType   string   `json:"dtype"`
	Shape   []int64  `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
}
