#ifndef TRIAD_ABI_H
#define TRIAD_ABI_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
#define TRIAD_ABI 1
enum { TRIAD_F64, TRIAD_F32, TRIAD_F16, TRIAD_BF16, TRIAD_E4M3, TRIAD_E5M2, TRIAD_I64, TRIAD_I32, TRIAD_I8, TRIAD_U8, TRIAD_BOOL,
       TRIAD_U32, TRIAD_E2M1X2 };
enum { TRIAD_OK = 0, TRIAD_UNSUPPORTED = -1 };              /* positive: a CUDA error code */

typedef struct { void *data; int32_t dtype, rank; int64_t shape[6], stride[6]; } triad_tensor;    /* device pointer; strides in elements */
typedef struct {
	uint32_t size;                                           /* of this struct: later fields go to the end */
	int32_t  n_in, n_out, n_attr;
	const triad_tensor *in, *out;                            /* in the order of the spec; of [backward] for a backward */
	const double *attr;                                      /* in the order of the spec: booleans 0/1, enumerations by index */
	void *workspace; int64_t workspace_bytes;                /* as asked below; contents undefined */
	void *stream;                                            /* null: the default stream; the caller has made the device current */
} triad_call;
typedef struct {
	uint32_t size;                                           /* of this struct */
	const char *op, *variant, *pass;                         /* pass: "forward" or "backward" */
	const char *contract;                                    /* a name that the spec permits; where it depends on the dtype,
	                                                            register once a contract, with disjoint dtypes */
	const char *forward;                                     /* backward only: the variant whose saved tensors it takes when chained; null: its own name */
	const char *constraint;                                  /* what `accepts` asks, in one sentence; or null */
	uint32_t dtypes;                                         /* bit set: what the main input may be */
	uint32_t outputs;                                        /* bit set: which outputs it gives; the required ones always */
	uint32_t nondeterministic;                               /* bit set of outputs */
	int     (*accepts)(const triad_call *, char *why, int32_t why_bytes);   /* TRIAD_OK, or TRIAD_UNSUPPORTED and a sentence */
	int64_t (*workspace)(const triad_call *);                /* bytes; may be null */
	int     (*launch)(const triad_call *);                   /* asynchronous on stream; checks cudaGetLastError */
	int32_t devices;                                         /* 2: half of each tensor and of the workspace lies on either, see device_pair.cuh */
} triad_kernel;
/* Every operator's library exports this; TRIAD_KERNEL(op, variant, pass, ...) in the .cu fills the list.
   *list points to *n pointers, valid while the library is loaded. Another abi than TRIAD_ABI: TRIAD_UNSUPPORTED. */
__attribute__((visibility("default")))
int triad_kernels(int32_t abi, const triad_kernel *const **list, int32_t *n);
#ifdef __cplusplus
}
#endif
#endif
