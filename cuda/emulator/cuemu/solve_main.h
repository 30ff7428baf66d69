// What the main() needs that `triad check` writes behind a file whose extern "C" solve has none.
#ifndef CUEMU_SOLVE_MAIN_H
#define CUEMU_SOLVE_MAIN_H

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <vector>

namespace triad_check {

// value of an element: floats between -1 and 1, integers 0 and 1, which are indices into everything.
template <class T> void value(T &element, uint64_t random) {
	if constexpr (std::is_integral<T>::value) element = static_cast<T>(random >> 40 & 1);
	else if constexpr (std::is_constructible<T, float>::value) element = T(static_cast<float>(random >> 40) * 0x1p-23f - 1.0f);
	else
		for (size_t i = 0; i + 4 <= sizeof element; i += 4) {   // float4 and its like
			const float part = static_cast<float>(random >> 40) * 0x1p-23f - 1.0f;
			memcpy(reinterpret_cast<char *>(&element) + i, &part, 4);
		}
}

// host_array is of a function that copies to the device itself; what it leaves as it is, is 0 in every order.
template <class T> void host_array(T **p, size_t bytes) { *p = static_cast<T *>(calloc(bytes + 1, 1)); }

// fill gives an array values, wherever it lies.
template <class T> void fill(T *p, size_t count) {
	if (!p || count == 0) return;                   // told by the emulator
	std::vector<unsigned char> bytes(count * sizeof(T));
	uint64_t state = 1;
	for (size_t i = 0; i < count; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		T element;
		memset(static_cast<void *>(&element), 0, sizeof element);
		value(element, state);
		memcpy(&bytes[i * sizeof(T)], &element, sizeof element);
	}
	cudaMemcpy(p, bytes.data(), bytes.size(), cudaMemcpyDefault);
}

// give_back frees an array; of an output it prints the elements that are numbers, which are compared between orders.
template <class T> void give_back(T *p, size_t count, const char *name, bool output, bool host) {
	std::vector<unsigned char> bytes(count * sizeof(T) + 1);
	if (output && cudaMemcpy(bytes.data(), p, count * sizeof(T), cudaMemcpyDefault) == cudaSuccess) {
		const size_t shown = count < 4096 ? count : 4096;
		printf("%s", name);
		for (size_t i = 0; i < shown; i++) {
			T element;
			memcpy(static_cast<void *>(&element), &bytes[i * sizeof(T)], sizeof element);
			if constexpr (std::is_integral<T>::value) printf(" %lld", static_cast<long long>(element));
			else if constexpr (std::is_convertible<T, float>::value) printf(" %.6e", static_cast<double>(static_cast<float>(element)));
		}
		printf("\n");
	}
	if (host) free(p);
	else cudaFree(p);
}

}  // namespace triad_check

#endif
