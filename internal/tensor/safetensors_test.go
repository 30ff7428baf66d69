package tensor

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"triad/internal/op"
)

func TestSafetensorsRoundTrip(t *testing.T) {
	var list []Tensor
	for d := op.FP64; d <= op.E2M1x2; d++ {
		x := New(d.String(), d, []int64{2, 3})
		x.SetFloat64s([]float64{0, 1, 1, 0, 1, 0})
		list = append(list, x)
	}
	strided := New("transposed", op.BF16, []int64{2, 3})
	strided.SetFloat64s([]float64{1, 2, 3, 4, 5, 6})
	strided.Shape, strided.Stride = []int64{3, 2}, []int64{1, 3}
	list = append(list, strided, New("scalar", op.FP32, []int64{}), New("empty", op.FP32, []int64{0, 7}))
	var file bytes.Buffer
	if err := WriteSafetensors(&file, list, map[string]string{"seed": "1"}); err != nil {
		t.Fatal(err)
	}
	got, metadata, err := ReadSafetensors(file.Bytes())
	if err != nil || metadata["seed"] != "1" || len(got) != len(list) {
		t.Fatalf("%v, %v, %d tensors", err, metadata, len(got))
	}
	byName := map[string]Tensor{}
	for _, x := range got {
		byName[x.Name] = x
	}
	for _, want := range list {
		have := byName[want.Name]
		if err := have.Check(); err != nil || have.DType != want.DType ||
			!bytes.Equal(have.Packed(), want.Packed()) {
			t.Errorf("%s: %v, %x, want %x", want.Name, err, have.Packed(), want.Packed())
		}
	}
}

// The format counts fp4 numbers, of which a byte of ours has two.
func TestSafetensorsCountPackedNumbers(t *testing.T) {
	var file bytes.Buffer
	if err := WriteSafetensors(&file, []Tensor{New("x", op.E2M1x2, []int64{3, 8})}, nil); err != nil {
		t.Fatal(err)
	}
	if want := `"dtype":"F4","shape":[3,16],"data_offsets":[0,24]`; !strings.Contains(file.String(), want) {
		t.Errorf("%q, want %s", file.String(), want)
	}
	for shape, size := range map[string]int{"[3,5]": 8, "[]": 1} {
		header := fmt.Sprintf(`{"x":{"dtype":"F4","shape":%s,"data_offsets":[0,%d]}}`, shape, size)
		odd := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
		odd = append(odd, make([]byte, size)...)
		if _, _, err := ReadSafetensors(odd); err == nil || !strings.Contains(err.Error(), "two a byte") {
			t.Errorf("shape %s: %v", shape, err)
		}
	}
}

func TestWriteSafetensorsRefuses(t *testing.T) {
	x := New("x", op.FP32, []int64{1})
	short := x
	short.Data = nil
	for _, list := range [][]Tensor{
		{x, x},
		{New("", op.FP32, nil)},
		{New("__metadata__", op.FP32, nil)},
		{New("\xff", op.FP32, nil)},
		{short},
	} {
		if WriteSafetensors(&bytes.Buffer{}, list, nil) == nil {
			t.Errorf("%q was written", list[0].Name)
		}
	}
}

func file(header string, data int) []byte {
	return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...),
		make([]byte, data)...)
}

const good = `{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`

// brokenHeaders are headers, each with a number of bytes of data, that no reader may accept.
var brokenHeaders = []struct {
	header string
	data   int
}{
	{good, 7},
	{good, 9},
	{good + "x", 8},
	{good + "{}", 8},
	{" " + good, 8},
	{"[]", 0},
	{"", 0},
	{"{", 0},
	{"null", 0},
	{strings.Replace(good, `"dtype"`, `"DTYPE"`, 1), 8},
	{strings.Replace(good, `F32`, `f32`, 1), 8},
	{strings.Replace(good, `F32`, `F4`, 1), 8},
	{strings.Replace(good, `[2]`, `[2.0]`, 1), 8},
	{strings.Replace(good, `[2]`, `[2e0]`, 1), 8},
	{strings.Replace(good, `[2]`, `[-2]`, 1), 8},
	{strings.Replace(good, `[2]`, `["2"]`, 1), 8},
	{strings.Replace(good, `[2]`, `[[2]]`, 1), 8},
	{strings.Replace(good, `[2]`, `2`, 1), 8},
	{strings.Replace(good, `[2]`, `[4194305,4194305,211106198978564]`, 1), 8},
	{strings.Replace(good, `[2]`, `[-0]`, 1), 8},
	{strings.Replace(good, `[2]`, `[02]`, 1), 8},
	{strings.Replace(good, `[0,8]`, `[8,0]`, 1), 8},
	{strings.Replace(good, `[0,8]`, `[1,9]`, 1), 9},
	{strings.Replace(good, `[0,8]`, `[0,8,8]`, 1), 8},
	{strings.Replace(good, `"shape":[2],`, ``, 1), 8},
	{strings.Replace(good, `"shape":[2]`, `"shape":[2],"shape":[2]`, 1), 8},
	{strings.Replace(good, `"shape"`, `"extra":1,"shape"`, 1), 8},
	{strings.Replace(good, `"x"`, `""`, 1), 8},
	{strings.Replace(good, `"x"`, `"\ud800"`, 1), 8},
	{strings.Replace(good, `"x"`, "\"\xff\"", 1), 8},
	{`{"__metadata__":{"a":1}}`, 0},
	{`{"__metadata__":{"a":"1","a":"2"}}`, 0},
	// a name twice
	{good[:len(good)-1] + "," + good[1:], 8},
	// an overlap
	{`{"x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},` +
		`"y":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}`, 3},
	// a hole
	{`{"x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},` +
		`"y":{"dtype":"U8","shape":[2],"data_offsets":[3,5]}}`, 5},
}

// Headers that other readers accept, and those that they refuse, are refused.
func TestReadSafetensorsIsStrict(t *testing.T) {
	if _, _, err := ReadSafetensors(file(good, 8)); err != nil {
		t.Fatal(err)
	}
	for _, c := range brokenHeaders {
		if _, _, err := ReadSafetensors(file(c.header, c.data)); err == nil ||
			!strings.HasPrefix(err.Error(), "read safetensors: ") {
			t.Errorf("%s with %d bytes: %v", c.header, c.data, err)
		}
	}
	for _, b := range [][]byte{
		nil,
		{1, 2, 3},
		binary.LittleEndian.AppendUint64(nil, 1<<63),
		file(strings.Repeat(" ", maxHeader+1), 0), file(good, 8)[:20],
	} {
		if _, _, err := ReadSafetensors(b); err == nil {
			t.Errorf("%d bytes were read", len(b))
		}
	}
}

// Any file gives tensors that lie within it, or an error; tensors that were read can be written and read
// again.
func FuzzReadSafetensors(f *testing.F) {
	f.Add(file(`{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"__metadata__":{"a":"b"}}  `, 8))
	f.Add(file(`{"a":{"dtype":"BOOL","shape":[],"data_offsets":[0,1]},`+
		`"b":{"dtype":"F64","shape":[0],"data_offsets":[1,1]}}`, 1))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, metadata, err := ReadSafetensors(b)
		if err != nil {
			return
		}
		for _, x := range list {
			if err := x.Check(); err != nil {
				t.Fatal(err)
			}
			_ = x.Float64s()
		}
		var again bytes.Buffer
		if err := WriteSafetensors(&again, list, metadata); err != nil {
			t.Fatal(err)
		}
		if back, _, err := ReadSafetensors(again.Bytes()); err != nil || len(back) != len(list) {
			t.Fatalf("%d tensors became %d, %v", len(list), len(back), err)
		}
	})
}
