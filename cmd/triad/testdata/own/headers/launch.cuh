#pragma once

#include <cuda_runtime.h>

template <typename Kernel, typename... Args>
void launch_with(Kernel *kernel, int blocks, int threads, Args... args) {
	kernel<<<blocks, threads>>>(args...);
}
