// A row for each block; what adds up a row lies in a header of a folder that is not here.
#include "course_of_another_folder/reduce.cuh"

__global__ void softmax(const float *x, float *y, int rows, int cols) {
	const float *row = x + blockIdx.x * cols;
	float largest = largest_of_block(row, cols), sum = 0;
	for (int c = 0; c < cols; c++) sum += expf(row[c] - largest);
	for (int c = threadIdx.x; c < cols; c += blockDim.x) y[blockIdx.x * cols + c] = expf(row[c] - largest) / sum;
}

void launch(const float *x, float *y, int rows, int cols) { softmax<<<rows, 128>>>(x, y, rows, cols); }
