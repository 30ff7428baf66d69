#pragma once
__global__ void softmax_of_all_lanes(float *C, int M, int N);
__global__ void softmax_of_a_warp(float *C, int M, int N);
