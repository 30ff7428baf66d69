#pragma once

__global__ void silu_elements(const float *x, float *y, int n);
