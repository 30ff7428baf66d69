// Stands in for the header of cuFFT: types and functions that can be compiled and not called.
#ifndef CUEMU_CUFFT_H
#define CUEMU_CUFFT_H
#include "cuComplex.h"
#include "cuda_runtime.h"

enum cufftResult_t {
	CUFFT_SUCCESS = 0, CUFFT_INVALID_PLAN = 1, CUFFT_ALLOC_FAILED = 2, CUFFT_INVALID_TYPE = 3,
	CUFFT_INVALID_VALUE = 4, CUFFT_INTERNAL_ERROR = 5, CUFFT_EXEC_FAILED = 6, CUFFT_SETUP_FAILED = 7,
	CUFFT_INVALID_SIZE = 8, CUFFT_UNALIGNED_DATA = 9, CUFFT_INCOMPLETE_PARAMETER_LIST = 10,
	CUFFT_INVALID_DEVICE = 11, CUFFT_PARSE_ERROR = 12, CUFFT_NO_WORKSPACE = 13, CUFFT_NOT_IMPLEMENTED = 14,
	CUFFT_LICENSE_ERROR = 15, CUFFT_NOT_SUPPORTED = 16,
};
typedef cufftResult_t cufftResult;
enum cufftType_t {
	CUFFT_R2C = 0x2a, CUFFT_C2R = 0x2c, CUFFT_C2C = 0x29, CUFFT_D2Z = 0x6a, CUFFT_Z2D = 0x6c, CUFFT_Z2Z = 0x69,
};
typedef cufftType_t cufftType;
typedef int cufftHandle;
typedef float cufftReal;
typedef double cufftDoubleReal;
typedef cuComplex cufftComplex;
typedef cuDoubleComplex cufftDoubleComplex;
#define CUFFT_FORWARD -1
#define CUFFT_INVERSE 1

#define CUEMU_ABSENT(name) \
	template <class... A> inline cufftResult name(A...) { return ::cuemu::absent(#name, CUFFT_INTERNAL_ERROR); }
CUEMU_ABSENT(cufftCreate)
CUEMU_ABSENT(cufftPlan1d)
CUEMU_ABSENT(cufftPlan2d)
CUEMU_ABSENT(cufftPlan3d)
CUEMU_ABSENT(cufftPlanMany)
CUEMU_ABSENT(cufftMakePlan1d)
CUEMU_ABSENT(cufftSetStream)
CUEMU_ABSENT(cufftExecC2C)
CUEMU_ABSENT(cufftExecR2C)
CUEMU_ABSENT(cufftExecC2R)
CUEMU_ABSENT(cufftExecZ2Z)
CUEMU_ABSENT(cufftExecD2Z)
CUEMU_ABSENT(cufftExecZ2D)
CUEMU_ABSENT(cufftDestroy)
#undef CUEMU_ABSENT
#endif
