// Stands in for the header of cuBLAS: its types, and functions that can be compiled and not called. Files often compare their kernel with cuBLAS in a main().
#ifndef CUEMU_CUBLAS_V2_H
#define CUEMU_CUBLAS_V2_H
#include "cuda_fp16.h"
#include "cuda_runtime.h"

enum cublasStatus_t { CUBLAS_STATUS_SUCCESS = 0, CUBLAS_STATUS_NOT_INITIALIZED = 1, CUBLAS_STATUS_ALLOC_FAILED = 3, CUBLAS_STATUS_INVALID_VALUE = 7,
	CUBLAS_STATUS_ARCH_MISMATCH = 8, CUBLAS_STATUS_MAPPING_ERROR = 11, CUBLAS_STATUS_EXECUTION_FAILED = 13, CUBLAS_STATUS_INTERNAL_ERROR = 14,
	CUBLAS_STATUS_NOT_SUPPORTED = 15, CUBLAS_STATUS_LICENSE_ERROR = 16 };
enum cublasOperation_t { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2 };
enum cublasMath_t { CUBLAS_DEFAULT_MATH = 0, CUBLAS_TENSOR_OP_MATH = 1, CUBLAS_PEDANTIC_MATH = 2, CUBLAS_TF32_TENSOR_OP_MATH = 3 };
enum cublasPointerMode_t { CUBLAS_POINTER_MODE_HOST = 0, CUBLAS_POINTER_MODE_DEVICE = 1 };
enum cublasFillMode_t { CUBLAS_FILL_MODE_LOWER = 0, CUBLAS_FILL_MODE_UPPER = 1 };
enum cublasDiagType_t { CUBLAS_DIAG_NON_UNIT = 0, CUBLAS_DIAG_UNIT = 1 };
enum cublasSideMode_t { CUBLAS_SIDE_LEFT = 0, CUBLAS_SIDE_RIGHT = 1 };
enum cublasGemmAlgo_t { CUBLAS_GEMM_DEFAULT = -1, CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99 };
enum cublasComputeType_t { CUBLAS_COMPUTE_16F = 64, CUBLAS_COMPUTE_32F = 68, CUBLAS_COMPUTE_32F_FAST_TF32 = 77, CUBLAS_COMPUTE_32I = 72 };
#ifndef CUEMU_CUDA_DATA_TYPE
#define CUEMU_CUDA_DATA_TYPE
enum cudaDataType { CUDA_R_32F = 0, CUDA_R_64F = 1, CUDA_R_16F = 2, CUDA_R_8I = 3, CUDA_R_32I = 10, CUDA_R_16BF = 14 };
typedef cudaDataType cudaDataType_t;
#endif
typedef struct cublasContext *cublasHandle_t;

#define CUEMU_ABSENT(name) \
	template <class... A> inline cublasStatus_t name(A...) { return ::cuemu::absent(#name, CUBLAS_STATUS_NOT_SUPPORTED); } \
	template <class... A> inline cublasStatus_t name##_v2(A...) { return ::cuemu::absent(#name, CUBLAS_STATUS_NOT_SUPPORTED); }
CUEMU_ABSENT(cublasCreate)
CUEMU_ABSENT(cublasDestroy)
CUEMU_ABSENT(cublasSetStream)
CUEMU_ABSENT(cublasSetMathMode)
CUEMU_ABSENT(cublasSetPointerMode)
CUEMU_ABSENT(cublasSgemm)
CUEMU_ABSENT(cublasHgemm)
CUEMU_ABSENT(cublasDgemm)
CUEMU_ABSENT(cublasGemmEx)
CUEMU_ABSENT(cublasSgemmBatched)
CUEMU_ABSENT(cublasSgemmStridedBatched)
CUEMU_ABSENT(cublasHgemmStridedBatched)
CUEMU_ABSENT(cublasGemmStridedBatchedEx)
CUEMU_ABSENT(cublasSgemv)
CUEMU_ABSENT(cublasSgeam)
CUEMU_ABSENT(cublasSaxpy)
CUEMU_ABSENT(cublasSscal)
CUEMU_ABSENT(cublasSdot)
CUEMU_ABSENT(cublasSasum)
CUEMU_ABSENT(cublasSnrm2)
CUEMU_ABSENT(cublasScopy)
CUEMU_ABSENT(cublasIsamax)
CUEMU_ABSENT(cublasSetVector)
CUEMU_ABSENT(cublasGetVector)
CUEMU_ABSENT(cublasSetMatrix)
CUEMU_ABSENT(cublasGetMatrix)
#undef CUEMU_ABSENT
inline const char *cublasGetStatusString(cublasStatus_t) { return "cuBLAS is not emulated"; }
inline const char *cublasGetStatusName(cublasStatus_t) { return "cuBLAS is not emulated"; }
#endif
