// torch comes with the file that this one is compiled with, and the old form of options and of events is used.
__global__ void relu_kernel(const float *x, float *y, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) y[i] = x[i] < -1 ? 0 : x[i];
}

torch::Tensor relu(torch::Tensor x) {
	auto y = torch::empty({x.numel()}, torch::CUDA(torch::kFloat32));
	cudaEvent_t done;
	cudaEventCreate(&done);
	int n = x.numel();
	if (n > 0) relu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
	cudaEventRecord(done, cudaEventRecordDefault);
	cudaEventSynchronize(done);
	cudaEventDestroy(done);
	return y.view(x.sizes());
}
