package kernelfile

import (
	"slices"
	"strings"

	"triad/internal/op"
)

// elementTypes maps the types of CUDA C++ to the dtype of their elements. Vector types are read as their
// elements.
var elementTypes = map[string]op.DType{
	"float": op.FP32, "float2": op.FP32, "float4": op.FP32, "float3": op.FP32,
	"double": op.FP64,
	"half":   op.FP16, "__half": op.FP16, "half2": op.FP16, "__half2": op.FP16, "fp16": op.FP16,
	"__nv_bfloat16": op.BF16, "nv_bfloat16": op.BF16, "__nv_bfloat162": op.BF16, "bfloat16": op.BF16,
	"__nv_fp8_e4m3": op.E4M3, "__nv_fp8_e5m2": op.E5M2,
	"int": op.I32, "signed int": op.I32, "int32_t": op.I32, "int2": op.I32, "int3": op.I32, "int4": op.I32,
	"long": op.I64, "long int": op.I64, "long long": op.I64, "long long int": op.I64, "int64_t": op.I64,
	"longlong2": op.I64, "bool": op.Bool,
	"char": op.I8, "signed char": op.I8, "int8_t": op.I8, "char2": op.I8, "char4": op.I8,
	"unsigned char": op.U8, "uint8_t": op.U8, "uchar2": op.U8, "uchar3": op.U8, "uchar4": op.U8,
	"__nv_fp8_storage_t": op.U8,
	"unsigned int":       op.U32, "unsigned": op.U32, "uint32_t": op.U32, "uint": op.U32,
	"uint2": op.U32, "uint4": op.U32,
	"__nv_fp4x2_e2m1": op.E2M1x2, "__nv_fp4x2_storage_t": op.U8,
}

// byteTypes lists types of a pointer to anything that is stored in bytes, such as codes of fp8 and fp4.
var byteTypes = []string{
	"unsigned char", "uint8_t", "__nv_fp8_storage_t", "__nv_fp4x2_storage_t", "char", "int8_t",
}

// integerTypes lists types of sizes.
var integerTypes = []string{
	"int", "unsigned int", "unsigned", "long", "long int", "long long", "long long int",
	"unsigned long", "unsigned long long", "unsigned long int", "unsigned long long int", "size_t", "ssize_t",
	"ptrdiff_t", "int64_t", "int32_t", "uint32_t", "uint64_t", "short", "int16_t", "uint", "ulong",
}

// floatTypes lists types of numbers that are not sizes.
var floatTypes = []string{"float", "double", "half", "__half"}

// cppTypes maps a dtype to its type in CUDA C++.
var cppTypes = map[op.DType]string{
	op.FP64: "double", op.FP32: "float", op.FP16: "__half",
	op.BF16: "__nv_bfloat16", op.E4M3: "__nv_fp8_e4m3",
	op.E5M2: "__nv_fp8_e5m2",
	op.I64:  "long long", op.I32: "int", op.I8: "signed char", op.U8: "unsigned char", op.Bool: "bool",
	op.U32: "unsigned int", op.E2M1x2: "unsigned char",
}

// abiNames maps a dtype to its name in abi.h.
var abiNames = map[op.DType]string{
	op.FP64: "TRIAD_F64", op.FP32: "TRIAD_F32", op.FP16: "TRIAD_F16",
	op.BF16: "TRIAD_BF16", op.E4M3: "TRIAD_E4M3",
	op.E5M2: "TRIAD_E5M2",
	op.I64:  "TRIAD_I64", op.I32: "TRIAD_I32", op.I8: "TRIAD_I8", op.U8: "TRIAD_U8", op.Bool: "TRIAD_BOOL",
	op.U32: "TRIAD_U32", op.E2M1x2: "TRIAD_E2M1X2",
}

func (p Param) isStream() bool {
	return p.Base == "cudaStream_t" || p.Base == "CUstream" || p.Base == "cudaStream" || p.isTorchStream()
}

// isTorchStream reports whether a parameter takes a PyTorch stream: at::cuda::CUDAStream, or an optional one.
func (p Param) isTorchStream() bool { return strings.HasSuffix(p.Base, "CUDAStream") }

func (p Param) isInteger() bool { return !p.Pointer && slices.Contains(integerTypes, p.Base) }

// isShape reports whether a parameter takes a list of sizes: at::IntArrayRef, std::vector<int64_t>.
func (p Param) isShape() bool {
	return !p.Pointer && (strings.HasSuffix(p.Base, "IntArrayRef") || strings.HasSuffix(p.Base, "IntList") ||
		p.Base == "vector int64_t" || p.Base == "vector long")
}

func (p Param) isFloat() bool { return !p.Pointer && slices.Contains(floatTypes, p.Base) }

func (p Param) isBool() bool { return !p.Pointer && p.Base == "bool" }

// element returns the dtype that a pointer points to. ok is false if the type is not one of ours; any is true
// if the pointer may point to anything.
func (p Param) element() (dtype op.DType, any, ok bool) {
	base := strings.TrimPrefix(p.Base, "const ")
	if base == "void" {
		return op.DTypeUnknown, true, true
	}
	dtype, ok = elementTypes[base]
	return dtype, false, ok
}

// isBytes reports whether a pointer may point to anything that is stored in bytes.
func (p Param) isBytes() bool {
	return slices.Contains(byteTypes, strings.TrimPrefix(p.Base, "const "))
}

// instantiate substitutes the arguments of a template in the parameter's type.
func (p Param) instantiate(values map[string]string) Param {
	if v, ok := values[p.Base]; ok {
		p.Base = v
	}
	return p
}
