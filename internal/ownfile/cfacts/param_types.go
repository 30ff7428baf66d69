package cfacts

import (
	"go/constant"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"triad/internal/op"
)

// ElementTypes maps the types of CUDA C++ to the dtype of their elements. Vector types are read as their
// elements.
var ElementTypes = map[string]op.DType{
	"float": op.FP32, "float2": op.FP32, "float4": op.FP32, "float3": op.FP32, "double": op.FP64,
	"half": op.FP16, "__half": op.FP16, "half2": op.FP16, "__half2": op.FP16, "fp16": op.FP16,
	"__nv_bfloat16": op.BF16, "nv_bfloat16": op.BF16, "__nv_bfloat162": op.BF16, "bfloat16": op.BF16,
	"__nv_fp8_e4m3": op.E4M3, "__nv_fp8_e5m2": op.E5M2, "__nv_fp8_storage_t": op.U8,
	"int": op.I32, "signed int": op.I32, "int32_t": op.I32, "int2": op.I32, "int3": op.I32, "int4": op.I32,
	"long": op.I64, "long int": op.I64, "long long": op.I64, "long long int": op.I64, "int64_t": op.I64,
	"longlong2": op.I64, "size_t": op.I64, "unsigned long long": op.I64, "uint64_t": op.I64, "bool": op.Bool,
	"char": op.I8, "signed char": op.I8, "int8_t": op.I8, "char2": op.I8, "char4": op.I8,
	"unsigned char": op.U8, "uint8_t": op.U8, "uchar2": op.U8, "uchar3": op.U8, "uchar4": op.U8,
	"unsigned int": op.U32, "unsigned": op.U32, "uint32_t": op.U32, "uint": op.U32,
	"uint2": op.U32, "uint4": op.U32, "__nv_fp4x2_e2m1": op.E2M1x2, "__nv_fp4x2_storage_t": op.U8,
}

// byteTypes lists types of a pointer to anything that is stored in bytes, such as codes of fp8 and fp4.
var byteTypes = []string{
	"unsigned char", "uint8_t", "__nv_fp8_storage_t", "__nv_fp4x2_storage_t", "char", "int8_t",
}

// IntegerTypes lists types of sizes.
var IntegerTypes = []string{
	"int", "unsigned int", "unsigned", "long", "long int", "long long", "long long int",
	"unsigned long", "unsigned long long", "unsigned long int", "unsigned long long int", "size_t", "ssize_t",
	"ptrdiff_t", "int64_t", "int32_t", "uint32_t", "uint64_t", "short", "int16_t", "uint", "ulong",
}

// floatTypes lists types of numbers that are not sizes.
var floatTypes = []string{"float", "double", "half", "__half"}

// IsStream reports whether a parameter takes a stream, CUDA's or PyTorch's.
func (p Param) IsStream() bool {
	return p.Base == "cudaStream_t" || p.Base == "CUstream" || p.Base == "cudaStream" || p.IsTorchStream()
}

// IsTorchStream reports whether a parameter takes a PyTorch stream: at::cuda::CUDAStream, or an optional one.
func (p Param) IsTorchStream() bool { return strings.HasSuffix(p.Base, "CUDAStream") }

// IsInteger reports whether a parameter is an integer, which may be a size.
func (p Param) IsInteger() bool { return !p.Pointer && slices.Contains(IntegerTypes, p.Base) }

// IsShape reports whether a parameter takes a list of sizes: at::IntArrayRef, std::vector<int64_t>.
func (p Param) IsShape() bool {
	return !p.Pointer && (strings.HasSuffix(p.Base, "IntArrayRef") || strings.HasSuffix(p.Base, "IntList") ||
		p.Base == "vector int64_t" || p.Base == "vector long")
}

// IsFloat reports whether a parameter is a floating-point number.
func (p Param) IsFloat() bool { return !p.Pointer && slices.Contains(floatTypes, p.Base) }

// IsBool reports whether a parameter is a bool.
func (p Param) IsBool() bool { return !p.Pointer && p.Base == "bool" }

// Element returns the dtype that a pointer points to. ok is false if the type is not one of ours; any is true
// if the pointer may point to anything.
func (p Param) Element() (dtype op.DType, any, ok bool) {
	base := strings.TrimPrefix(p.Base, "const ")
	if base == "void" {
		return op.DTypeUnknown, true, true
	}
	dtype, ok = ElementTypes[base]
	return dtype, false, ok
}

// IsBytes reports whether a pointer may point to anything that is stored in bytes.
func (p Param) IsBytes() bool {
	return slices.Contains(byteTypes, strings.TrimPrefix(p.Base, "const "))
}

// Instantiate substitutes the arguments of a template in the parameter's type.
func (p Param) Instantiate(values map[string]string) Param {
	if v, ok := values[p.Base]; ok {
		p.Base = v
	}
	return p
}

// wholeSuffix matches an integer with the suffix of its type.
var wholeSuffix = regexp.MustCompile(`\b(0[xX][0-9a-fA-F]+|\d+)[uUlL]+\b`)

// narrowType matches what shows that an author thought of other dtypes than fp32.
var narrowType = regexp.MustCompile(`(?i)half|float16|fp16|bf16|\bdtype\b|element_ty|scalar_type`)

// NamesNarrow reports whether the lines of a file, without its comments, name a type of 16 bits or ask for
// the dtype of tensors.
func NamesNarrow(comment *regexp.Regexp, text string) bool {
	return narrowType.MatchString(wideType.ReplaceAllString(comment.ReplaceAllString(text, " "), " "))
}

// wideType matches a dtype without half precision, "dtype=tl.float32", and one that is passed on and named
// elsewhere: "dtype=dtype", "dtype=x.dtype".
var wideType = regexp.MustCompile(
	`\bdtype\s*=\s*(?:(?:tl|torch|np|jnp)\.(?:float32|float64|float|u?int\w*|bool|long)\b|dtype\b|` +
		`\w+\.dtype\b|["'](?:fp|f|float)?(?:32|64)["'])`)

// numberType returns the type of a number that a function returns, by the words before its name, or "" if it
// returns none.
func (f *File) numberType(before []Token) string {
	name := f.Resolve(strings.TrimPrefix(strings.TrimSpace(Join(trimWords(before))), "const "))
	if slices.Contains(floatTypes, name) || slices.Contains(IntegerTypes, name) {
		return name
	}
	return ""
}

// returnsFalse reports whether a function returns a bool, by the words before its name, and its body returns
// false.
func returnsFalse(before, body []Token) bool {
	words := trimWords(before)
	return TextAt(words, len(words)-1) == "bool" && HasTexts(body, "return", "false")
}

var (
	cComment      = regexp.MustCompile(`(?s)//[^\n]*|/\*.*?\*/`)
	PythonComment = regexp.MustCompile(`#[^\n]*`)
	realNumber    = regexp.MustCompile(`(?:^|[^\w.])((?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?)`)
)

// doubleNumber matches a number of C++ that has no f at its end.
var doubleNumber = regexp.MustCompile(
	`(?:^|[^\w.])((?:\d+\.\d*|\.\d+)(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+)(?:[^\w.]|$)`)

// doubles returns the numbers of a CUDA text that are doubles and change when rounded to fp32.
func doubles(text string) []float64 {
	var all []float64
	for _, found := range doubleNumber.FindAllStringSubmatch(cComment.ReplaceAllString(text, " "), -1) {
		n, err := strconv.ParseFloat(found[1], 64)
		if err == nil && float64(float32(n)) != n {
			all = append(all, n)
		}
	}
	return all
}

// WithSingles returns a CUDA text in which the numbers with some values are floats: 0.01 becomes 0.01f.
func WithSingles(text string, values []float64) string {
	for range 2 { // of two with one sign between them the first match takes that
		text = doubleNumber.ReplaceAllStringFunc(text, func(found string) string {
			at := doubleNumber.FindStringSubmatchIndex(found)
			n, err := strconv.ParseFloat(found[at[2]:at[3]], 64)
			if err != nil || !slices.Contains(values, n) {
				return found
			}
			return found[:at[3]] + "f" + found[at[3]:]
		})
	}
	return text
}

// Literals returns the numbers of a text outside of its comments, each once.
func Literals(comment *regexp.Regexp, text string) []float64 {
	var all []float64
	known := map[float64]bool{} // a table may have a million of them
	for _, found := range realNumber.FindAllStringSubmatch(comment.ReplaceAllString(text, " "), -1) {
		n, err := strconv.ParseFloat(found[1], 64)
		if err == nil && !known[n] {
			known[n] = true
			all = append(all, n)
		}
	}
	return all
}

// Constant returns the number that a name stands for, and the name that defines it: of "const int HIGH =
// WIDE" that is WIDE.
func (f *File) Constant(name string) (root string, value int64, ok bool) {
	for range maxConstants {
		text, defined := f.Defines[name]
		if !defined {
			return name, 0, false
		}
		if n, known := IntegerValue(text); known {
			return name, n, true
		}
		name = strings.Trim(text, "() ")
	}
	return name, 0, false
}

// IntegerValue returns the value of an integer expression such as "(1 << 20)". One with operators of bits and
// others has another order of precedence in Go than in C++.
func IntegerValue(text string) (int64, bool) {
	text = wholeSuffix.ReplaceAllString(text, "$1")
	if strings.ContainsAny(text, "<>&|^") && strings.ContainsAny(text, "+-*/%") {
		return 0, false
	}
	value, err := types.Eval(token.NewFileSet(), nil, token.NoPos, text)
	if err != nil || value.Value == nil || value.Value.Kind() != constant.Int {
		return 0, false
	}
	return constant.Int64Val(value.Value)
}
