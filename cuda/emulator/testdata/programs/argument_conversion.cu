// The buffers that are launch arguments convert to pointers and cannot be copied: each becomes the type of its parameter on the host.
// Segmented sum: lanes of a warp with the same segment find each other with __match_any_sync,
// add up with __reduce_add_sync, and their leader does one atomic for all.
#include <cstdio>
#include <vector>
#include <random>
#include <cuda_runtime.h>

__global__ void segmentedSum(const int* segment, const int* value, int* sum, int* count, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int lane = threadIdx.x & 31;

    const unsigned live = __ballot_sync(0xffffffffu, i < n);
    if (i >= n)
        return;

    const int s = segment[i];
    const unsigned peers = __match_any_sync(live, s);
    const int total = __reduce_add_sync(peers, value[i]);
    if (lane == __ffs(peers) - 1) {
        atomicAdd(&sum[s], total);
        atomicAdd(&count[s], __popc(peers));
    }
}

class DeviceInts {
public:
    explicit DeviceInts(size_t n) : bytes_(n * sizeof(int)) { status = cudaMalloc(&p_, bytes_); }
    ~DeviceInts() { cudaFree(p_); }
    DeviceInts(const DeviceInts&) = delete;
    DeviceInts& operator=(const DeviceInts&) = delete;

    void put(const std::vector<int>& h) { keep(cudaMemcpy(p_, h.data(), bytes_, cudaMemcpyHostToDevice)); }
    void get(std::vector<int>& h) { keep(cudaMemcpy(h.data(), p_, bytes_, cudaMemcpyDeviceToHost)); }
    void zero() { keep(cudaMemset(p_, 0, bytes_)); }
    operator int*() { return p_; }

    cudaError_t status;   // the first failure

private:
    void keep(cudaError_t e) { if (status == cudaSuccess) status = e; }
    int* p_ = nullptr;
    size_t bytes_;
};

int main()
{
    const int n = 5000, segments = 23;
    std::mt19937 gen(321);
    std::vector<int> seg(n), val(n), sum(segments), count(segments);
    std::vector<int> wantSum(segments, 0), wantCount(segments, 0);
    for (int i = 0; i < n; ++i) {
        // the first half is sorted in runs, the second half is scattered
        seg[i] = i < n / 2 ? i / 120 : int(gen() % segments);
        val[i] = int(gen() % 201) - 100;
        wantSum[seg[i]] += val[i];
        wantCount[seg[i]] += 1;
    }

    DeviceInts d_seg(n), d_val(n), d_sum(segments), d_count(segments);
    d_seg.put(seg);
    d_val.put(val);
    d_sum.zero();
    d_count.zero();
    segmentedSum<<<(n + 127) / 128, 128>>>(d_seg, d_val, d_sum, d_count, n);
    cudaError_t err = cudaGetLastError();
    if (err == cudaSuccess) err = cudaDeviceSynchronize();
    d_sum.get(sum);
    d_count.get(count);
    if (err != cudaSuccess || d_seg.status || d_val.status || d_sum.status || d_count.status) {
        printf("wrong CUDA error %s\n", cudaGetErrorString(err));
        return 1;
    }

    for (int s = 0; s < segments; ++s)
        if (sum[s] != wantSum[s] || count[s] != wantCount[s]) {
            printf("wrong segment %d: %d of %d values, expected %d of %d\n", s, sum[s], count[s],
                   wantSum[s], wantCount[s]);
            return 1;
        }
    printf("right\n");
    return 0;
}
