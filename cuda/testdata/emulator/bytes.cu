// Bytes chosen by every selector of four halves, in binary on standard output: by __byte_perm, then by PTX's prmt. The test knows the inputs.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>

#include "hopper/arithmetic.cuh"

int main() {
	for (uint32_t selector = 0; selector < 65536; selector++) {
		const uint32_t chosen[2] = {__byte_perm(0x03828180u, 0x8706c504u, selector), triad::hopper::permute(0x03828180u, 0x8706c504u, selector)};
		fwrite(chosen, sizeof chosen, 1, stdout);
	}
}
