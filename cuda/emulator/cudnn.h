// Stands in for the header of cuDNN: types and functions that can be compiled and not called.
#ifndef CUEMU_CUDNN_H
#define CUEMU_CUDNN_H
#include "cuda_runtime.h"

enum cudnnStatus_t { CUDNN_STATUS_SUCCESS = 0, CUDNN_STATUS_NOT_INITIALIZED = 1, CUDNN_STATUS_BAD_PARAM = 3, CUDNN_STATUS_NOT_SUPPORTED = 9 };
enum cudnnDataType_t { CUDNN_DATA_FLOAT = 0, CUDNN_DATA_DOUBLE = 1, CUDNN_DATA_HALF = 2, CUDNN_DATA_BFLOAT16 = 9 };
enum cudnnTensorFormat_t { CUDNN_TENSOR_NCHW = 0, CUDNN_TENSOR_NHWC = 1 };
enum cudnnSoftmaxAlgorithm_t { CUDNN_SOFTMAX_FAST = 0, CUDNN_SOFTMAX_ACCURATE = 1, CUDNN_SOFTMAX_LOG = 2 };
enum cudnnSoftmaxMode_t { CUDNN_SOFTMAX_MODE_INSTANCE = 0, CUDNN_SOFTMAX_MODE_CHANNEL = 1 };
typedef struct cudnnContext *cudnnHandle_t;
typedef struct cudnnTensorStruct *cudnnTensorDescriptor_t;

#define CUEMU_ABSENT(name) \
	template <class... A> inline cudnnStatus_t name(A...) { return ::cuemu::absent(#name, CUDNN_STATUS_NOT_SUPPORTED); }
CUEMU_ABSENT(cudnnCreate)
CUEMU_ABSENT(cudnnDestroy)
CUEMU_ABSENT(cudnnCreateTensorDescriptor)
CUEMU_ABSENT(cudnnDestroyTensorDescriptor)
CUEMU_ABSENT(cudnnSetTensor4dDescriptor)
CUEMU_ABSENT(cudnnSoftmaxForward)
CUEMU_ABSENT(cudnnSoftmaxBackward)
#undef CUEMU_ABSENT
inline const char *cudnnGetErrorString(cudnnStatus_t) { return "cuDNN is not emulated"; }
#endif
