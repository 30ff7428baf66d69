package op

import (
	"fmt"
	"strings"
)

// DType is the type of one element. The zero value is none.
type DType uint8

// The numbers after DTypeUnknown follow the order of TRIAD_F64 ... in cuda/abi.h: ABI() is that number.
const (
	DTypeUnknown DType = iota
	FP64
	FP32
	FP16
	BF16
	E4M3
	E5M2
	I64
	I32
	I8
	U8
	Bool
	U32
	E2M1x2 // two fp4 numbers in a byte, the first in its low half; a shape counts the bytes
)

var dtypes = [...]struct {
	name  string
	bytes int64
}{
	DTypeUnknown: {"unknown", 0},
	FP64:         {"fp64", 8}, FP32: {"fp32", 4}, FP16: {"fp16", 2}, BF16: {"bf16", 2}, E4M3: {"e4m3", 1},
	E5M2: {"e5m2", 1},
	I64:  {"int64", 8}, I32: {"int32", 4}, I8: {"int8", 1}, U8: {"uint8", 1}, Bool: {"bool", 1},
	U32: {"uint32", 4}, E2M1x2: {"e2m1x2", 1},
}

// ParseDType reads a dtype by the name that flags, specs, tables and the wire use.
func ParseDType(name string) (DType, error) {
	for i, d := range dtypes {
		if i > 0 && d.name == name {
			return DType(i), nil
		}
	}
	return DTypeUnknown, fmt.Errorf("dtype %q: want one of fp64, fp32, fp16, bf16, e4m3, e5m2, int64, "+
		"int32, int8, uint8, bool, uint32, e2m1x2", name)
}

// torchDTypes maps torch's names of dtypes to those of flags.
var torchDTypes = map[string]string{
	"float64": "fp64", "double": "fp64", "float32": "fp32", "float": "fp32", "float16": "fp16",
	"half":     "fp16",
	"bfloat16": "bf16", "float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2",
}

// DTypeNamed returns the name that flags use for a dtype that may be typed as torch calls it: bf16 for
// bfloat16 and torch.bfloat16. Any other text is returned as it is.
func DTypeNamed(typed string) string {
	if name, ok := torchDTypes[strings.TrimPrefix(typed, "torch.")]; ok {
		return name
	}
	return typed
}

// String returns the name that flags, specs, tables and the wire use.
func (d DType) String() string {
	if int(d) < len(dtypes) {
		return dtypes[d].name
	}
	return "unknown"
}

// Size returns the size of one element in bytes; 0 for an unknown dtype.
func (d DType) Size() int64 {
	if int(d) < len(dtypes) {
		return dtypes[d].bytes
	}
	return 0
}

// ABI returns the number of the dtype in cuda/abi.h, -1 for an unknown one.
func (d DType) ABI() int32 { return int32(d) - 1 }

// IsFloat reports whether an element is one floating-point number.
func (d DType) IsFloat() bool { return d >= FP64 && d <= E5M2 }

// MarshalText writes the name.
func (d DType) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads the name.
func (d *DType) UnmarshalText(text []byte) error {
	v, err := ParseDType(string(text))
	*d = v
	return err
}
