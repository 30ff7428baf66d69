package tensor

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"triad/internal/op"
)

// maxHeader is the longest header ReadSafetensors takes, in bytes. The format allows more; a hundred thousand
// entries are an attack.
const maxHeader = 1 << 20

// ReadSafetensors reads a whole file. It is stricter than the format's own readers: no duplicate or unknown
// key, no other case, no number but plain integers, names in UTF-8, every byte of the data in exactly one
// tensor. The tensors share b, in the order of their data.
func ReadSafetensors(b []byte) ([]Tensor, map[string]string, error) {
	tensors, metadata, err := readSafetensors(b)
	if err != nil {
		return nil, nil, fmt.Errorf("read safetensors: %w", err)
	}
	return tensors, metadata, nil
}

func readSafetensors(b []byte) ([]Tensor, map[string]string, error) {
	if len(b) < 8 {
		return nil, nil, fmt.Errorf("%d bytes: want at least 8", len(b))
	}
	n := binary.LittleEndian.Uint64(b)
	if n > maxHeader || n > uint64(len(b)-8) {
		return nil, nil, fmt.Errorf("header of %d bytes in a file of %d: want at most %d, and no more than "+
			"there is", n, len(b), maxHeader)
	}
	header, data := b[8:8+n], b[8+n:]
	if len(header) == 0 || header[0] != '{' || !utf8.Valid(header) {
		return nil, nil, errors.New("header: want a JSON object in UTF-8")
	}
	r := &headerReader{decoder: json.NewDecoder(bytes.NewReader(header)), metadata: map[string]string{}}
	r.decoder.UseNumber()
	if err := r.object(r.entry); err != nil {
		return nil, nil, fmt.Errorf("header: %w", err)
	}
	if rest := header[r.decoder.InputOffset():]; len(bytes.Trim(rest, " ")) > 0 {
		return nil, nil, fmt.Errorf("header: %d bytes follow the object: want spaces alone", len(rest))
	}
	slices.SortStableFunc(r.parts,
		func(x, y part) int { return cmp.Or(cmp.Compare(x.begin, y.begin), cmp.Compare(x.end, y.end)) })
	at := int64(0)
	tensors := make([]Tensor, 0, len(r.parts))
	for _, p := range r.parts {
		if p.begin != at || p.end < at || p.end > int64(len(data)) {
			return nil, nil, fmt.Errorf("tensor %q has bytes %d to %d of %d: want them to begin at %d",
				p.Name, p.begin, p.end, len(data), at)
		}
		at = p.end
		p.Data = data[p.begin:p.end:p.end]
		tensors = append(tensors, p.Tensor)
	}
	if at != int64(len(data)) {
		return nil, nil, fmt.Errorf("%d bytes of data belong to no tensor", int64(len(data))-at)
	}
	return tensors, r.metadata, nil
}

// part is a tensor with its place in the data.
type part struct {
	Tensor
	begin, end int64
}

// headerReader walks the tokens of a header, because decoding into structs would let duplicates and other
// spellings through.
type headerReader struct {
	decoder  *json.Decoder
	parts    []part
	metadata map[string]string
}

// object reads an object, calling member with each key; a key may occur once.
func (r *headerReader) object(member func(key string) error) error {
	if err := r.delimiter('{'); err != nil {
		return err
	}
	seen := map[string]bool{}
	for r.decoder.More() {
		key, err := r.text()
		if err != nil {
			return err
		}
		if seen[key] {
			return fmt.Errorf("key %q occurs twice", key)
		}
		seen[key] = true
		if err := member(key); err != nil {
			return fmt.Errorf("%q: %w", key, err)
		}
	}
	return r.delimiter('}')
}

func (r *headerReader) delimiter(want json.Delim) error {
	token, err := r.decoder.Token()
	if err == nil && token != want {
		err = fmt.Errorf("%v: want %v", token, want)
	}
	return err
}

func (r *headerReader) text() (string, error) {
	token, err := r.decoder.Token()
	if err != nil {
		return "", err
	}
	text, ok := token.(string)
	if !ok || strings.ContainsRune(text, utf8.RuneError) {
		return "", fmt.Errorf("%v: want a text of valid characters", token)
	}
	return text, nil
}

// entry reads one member of the header: a tensor, or the metadata.
func (r *headerReader) entry(name string) error {
	if name == "__metadata__" {
		return r.object(func(key string) (err error) { r.metadata[key], err = r.text(); return err })
	}
	p := part{Tensor: Tensor{Name: name}, begin: -1}
	var shape, offsets []int64
	err := r.object(func(key string) (err error) {
		switch key {
		case "dtype":
			p.DType, err = r.dtype()
		case "shape":
			shape, err = r.integers()
		case "data_offsets":
			offsets, err = r.integers()
		default:
			err = errors.New("unknown key: want dtype, shape and data_offsets")
		}
		return err
	})
	if err != nil {
		return err
	}
	if name == "" || p.DType == op.DTypeUnknown || shape == nil || len(offsets) != 2 {
		return errors.New("want a name, dtype, shape and two data_offsets")
	}
	if last := len(shape) - 1; p.DType == op.E2M1x2 {
		if last < 0 || shape[last]%2 != 0 {
			return fmt.Errorf("shape %v of fp4 numbers, two a byte: want an even number in a row", shape)
		}
		shape[last] /= 2
	}
	p.Shape, p.Stride, p.begin, p.end = shape, Contiguous(shape), offsets[0], offsets[1]
	r.parts = append(r.parts, p)
	return p.fits()
}

// fits compares the place in the data with shape and dtype, without overflow.
func (p part) fits() error {
	n := uint64(p.DType.Size())
	for _, size := range p.Shape {
		high, low := bits.Mul64(n, uint64(max(size, 1)))
		if high != 0 || low > 1<<62 {
			return fmt.Errorf("shape %v: too large", p.Shape)
		}
		n = low
	}
	if want := p.Elements() * p.DType.Size(); p.end-p.begin != want {
		return fmt.Errorf("data_offsets %d to %d: want %d bytes for %s %v", p.begin, p.end, want,
			p.DType, p.Shape)
	}
	return nil
}

func (r *headerReader) dtype() (op.DType, error) {
	text, err := r.text()
	if err != nil {
		return op.DTypeUnknown, err
	}
	for d, name := range safetensorsNames {
		if name == text {
			return d, nil
		}
	}
	return op.DTypeUnknown, fmt.Errorf("dtype %q: want one of %v", text,
		slices.Sorted(maps.Values(safetensorsNames)))
}

// integers reads a list of integers that are not negative and have no fraction, exponent or sign.
func (r *headerReader) integers() ([]int64, error) {
	if err := r.delimiter('['); err != nil {
		return nil, err
	}
	list := []int64{}
	for r.decoder.More() {
		token, err := r.decoder.Token()
		if err != nil {
			return nil, err
		}
		number, _ := token.(json.Number)
		v, err := strconv.ParseInt(number.String(), 10, 64)
		if err != nil || number.String() != strconv.FormatInt(v, 10) || v < 0 {
			return nil, fmt.Errorf("%v: want an integer of at least 0", token)
		}
		list = append(list, v)
	}
	return list, r.delimiter(']')
}
