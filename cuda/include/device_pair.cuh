// device_pair.cuh: calls whose tensors lie on two devices that reach each other's memory: along the first dim the first half, one longer where
// the number is odd, lies on the first device, the rest on the second (triad_kernel.devices). A workspace is half on each.
//
//   triad::DevicePair pair(call);
//   pair.each([&](triad::Share at, cudaStream_t stream) { k<<<at.grid(blocks), threads, 0, stream>>>(..., at.first); });
//   pair.meet();                                             // what follows on either waits for what both did
//   pair.beside(0, to, from, bytes);                         // a copy beside what follows, until pair.arrived()
//   return pair.end();
//
// A kernel works for device first + blockIdx.y. In the emulator both devices are one launch: its orders of blocks mix them.
#ifndef TRIAD_DEVICE_PAIR_CUH
#define TRIAD_DEVICE_PAIR_CUH
#include "call.cuh"

namespace triad {

// Span is a run of places of the first dim.
struct Span {
	int64_t first, count;
	__host__ __device__ bool has(int64_t i) const { return i >= first && i < first + count; }
};

// half_of returns the places, of n, that lie on a device.
__host__ __device__ inline Span half_of(int64_t n, int device) {
	const int64_t before = n - n / 2;
	return device == 0 ? Span{0, before} : Span{before, n - before};
}

// EachOf is a value for each device.
template <class T> struct EachOf {
	T zero, one;
	__host__ __device__ const T &operator[](int device) const { return device == 0 ? zero : one; }
	T &of(int device) { return device == 0 ? zero : one; }
};

// Share is the devices that a launch is for.
struct Share {
	int first;
	unsigned devices;
	dim3 grid(unsigned blocks) const { return dim3(blocks, devices); }
};

// The second device's stream, a stream of either for copies, and the events by which they wait for each other; made once a process. Calls come
// from one thread.
struct PairStreams {
	cudaStream_t second = nullptr, beside[2] = {};
	cudaEvent_t did[2] = {}, copied[2] = {};
	cudaError_t error = cudaSuccess;

	PairStreams() {
#ifndef __CUEMU__
		for (int device = 1; device >= 0; device--) {
			if (error == cudaSuccess) error = cudaSetDevice(device);
			if (error == cudaSuccess && device == 1) error = cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
			if (error == cudaSuccess) error = cudaStreamCreateWithFlags(&beside[device], cudaStreamNonBlocking);
			for (cudaEvent_t *event : {&did[device], &copied[device]})
				if (error == cudaSuccess) error = cudaEventCreateWithFlags(event, cudaEventDisableTiming);
		}
#endif
	}
};

class DevicePair {
public:
	explicit DevicePair(const triad_call *call) : first(stream_of(call)), failed(streams().error) {
		did(0);
		wait(1);
	}
	DevicePair(const DevicePair &) = delete;
	DevicePair &operator=(const DevicePair &) = delete;

	// on makes a device current and gives its stream.
	cudaStream_t on(int device) {
#ifdef __CUEMU__
		return (void)device, first;
#else
		note(cudaSetDevice(device));
		return device == 0 ? first : streams().second;
#endif
	}

	template <class F> void each(F launch) {
#ifdef __CUEMU__
		launch(Share{0, 2}, first);
		note(cudaGetLastError());
#else
		for (int device = 0; device < 2; device++) {
			launch(Share{device, 1}, on(device));
			note(cudaGetLastError());
		}
#endif
	}

	// copy queues a copy on the stream of the device that sends.
	void copy(int sender, void *to, const void *from, int64_t bytes) {
		if (bytes > 0) note(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyDeviceToDevice, on(sender)));
	}
	// beside queues a copy after what was queued on the sender, beside what follows there.
	void beside(int sender, void *to, const void *from, int64_t bytes) {
#ifdef __CUEMU__
		copy(sender, to, from, bytes);
#else
		const cudaStream_t stream = streams().beside[sender];
		if (bytes <= 0) return;
		did(sender);
		note(cudaStreamWaitEvent(stream, streams().did[sender], 0));
		note(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyDeviceToDevice, stream));
		note(cudaEventRecord(streams().copied[sender], stream));
#endif
	}

	// arrived makes what follows on either wait for all copies beside it, one on each at least.
	void arrived() {
#ifndef __CUEMU__
		for (int device = 0; device < 2; device++)
			for (cudaEvent_t event : streams().copied) note(cudaStreamWaitEvent(on(device), event, 0));
#endif
	}

	void clear(int device, void *at, int64_t bytes) {
		if (bytes > 0) note(cudaMemsetAsync(at, 0, static_cast<size_t>(bytes), on(device)));
	}

	void meet() {
		did(0), did(1);
		wait(0), wait(1);
	}

	// end makes the call's stream wait for the second device, and is the status of it all.
	int end() {
		did(1);
		wait(0);
		on(0);
		return static_cast<int>(failed);
	}

private:
	static PairStreams &streams() {
		static PairStreams all;
		return all;
	}
	void note(cudaError_t error) {
		if (failed == cudaSuccess) failed = error;
	}
	void did(int device) {
#ifndef __CUEMU__
		note(cudaEventRecord(streams().did[device], on(device)));
#endif
	}
	void wait(int device) {
#ifndef __CUEMU__
		note(cudaStreamWaitEvent(on(device), streams().did[1 - device], 0));
#endif
	}

	cudaStream_t first;
	cudaError_t failed;
};

} // namespace triad
#endif
