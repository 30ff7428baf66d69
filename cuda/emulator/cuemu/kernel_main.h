// The main() of a program that is made of one kernel file, for `triad check OPERATOR`. Its argument is a file that
// describes one call (cuda/program/kernel.go writes it): lines of text, then the bytes of the inputs. The program
// the call, and prints a hash of every output whose bits may not depend on the order of threads.
#ifndef CUEMU_KERNEL_MAIN_H
#define CUEMU_KERNEL_MAIN_H

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "abi.h"

namespace cuemu_call {

// Tensor is one input or output. bytes is that of its storage, start the index of its first element there.
struct Tensor {
	std::string name;
	triad_tensor view = {};
	int64_t start = 0, bytes = 0;
	int element_bytes = 1;
	bool given = true, hashed = false;              // of an output: by what the kernel registers
	void *storage = nullptr;
};

inline std::istream &operator>>(std::istream &in, Tensor &t) {
	in >> t.name >> t.view.dtype >> t.element_bytes >> t.view.rank;
	for (int i = 0; i < t.view.rank && i < 6; i++) in >> t.view.shape[i];
	for (int i = 0; i < t.view.rank && i < 6; i++) in >> t.view.stride[i];
	return in >> t.start >> t.bytes;
}

struct Call {
	std::string variant, pass, contract;
	std::vector<double> attributes;
	std::vector<int64_t> words;                     // of a user's file
	std::vector<Tensor> in, out;
	std::string contents;                           // of all inputs, one after the other
};

template <class T> void read_list(std::istream &in, std::vector<T> &list) {
	size_t n = 0;
	in >> n;
	list.resize(n);
	for (T &element : list) in >> element;
}

inline bool read(const char *name, Call &c) {
	std::ifstream in(name, std::ios::binary);
	std::getline(in, c.variant);
	std::getline(in, c.pass);
	std::getline(in, c.contract);
	std::vector<std::string> numbers;              // infinities among them, which >> does not read
	read_list(in, numbers);
	for (const std::string &text : numbers) c.attributes.push_back(strtod(text.c_str(), nullptr));
	read_list(in, c.words);
	read_list(in, c.in);
	read_list(in, c.out);
	in.get();
	if (!in) return false;
	c.contents.assign(std::istreambuf_iterator<char>(in), {});
	size_t want = 0;
	for (const Tensor &t : c.in) want += static_cast<size_t>(t.bytes);
	return c.contents.size() == want;
}

inline const triad_kernel *find(const Call &c) {
	const triad_kernel *const *list = nullptr;
	int32_t n = 0;
	if (triad_kernels(TRIAD_ABI, &list, &n) != TRIAD_OK) return nullptr;
	for (int32_t i = 0; i < n; i++) {
		const triad_kernel *k = list[i];
		const bool takes = c.in.empty() || (k->dtypes >> c.in[0].view.dtype & 1);
		if (takes && c.variant == k->variant && c.pass == k->pass && c.contract == k->contract) return k;
	}
	return nullptr;
}

inline void place(std::vector<Tensor> &list, std::vector<triad_tensor> &views) {
	for (Tensor &t : list) {
		if (t.given) cudaMalloc(&t.storage, static_cast<size_t>(t.bytes));
		t.view.data = t.given ? static_cast<char *>(t.storage) + t.start * t.element_bytes : nullptr;
		views.push_back(t.view);
	}
}

inline uint64_t hash(const std::string &bytes) {
	uint64_t h = 14695981039346656037u;
	for (unsigned char c : bytes) h = (h ^ c) * 1099511628211u;
	return h;
}

inline void print(const Tensor &t) {
	if (!t.hashed) return;
	std::string bytes(static_cast<size_t>(t.bytes), '\0');
	cudaMemcpy(&bytes[0], t.storage, bytes.size(), cudaMemcpyDeviceToHost);
	printf("%s h%016llx\n", t.name.c_str(), static_cast<unsigned long long>(hash(bytes)));
}

// launch makes the call, once the tensors have their memory.
inline int launch(Call &c, const triad_kernel *k, triad_call &call) {
	char why[512] = "";
	if (k->accepts && k->accepts(&call, why, sizeof why) != TRIAD_OK) return printf("declined: %s\n", why), 0;
	call.workspace_bytes = k->workspace ? k->workspace(&call) : 0;
	if (call.workspace_bytes > 0) cudaMalloc(&call.workspace, static_cast<size_t>(call.workspace_bytes));
	const int status = k->launch(&call);
	cudaDeviceSynchronize();
	if (status != TRIAD_OK) return printf("the launch function returned %d\n", status), 1;
	for (const Tensor &t : c.out) print(t);
	return 0;
}

inline int run(Call &c, const triad_kernel *k) {
	std::vector<triad_tensor> in, out;
	for (size_t i = 0; i < c.out.size(); i++) {
		c.out[i].given = k->outputs >> i & 1;
		c.out[i].hashed = c.out[i].given && !(k->nondeterministic >> i & 1);
	}
	place(c.in, in);
	place(c.out, out);
	size_t at = 0;
	for (const Tensor &t : c.in) {
		cudaMemcpy(t.storage, c.contents.data() + at, static_cast<size_t>(t.bytes), cudaMemcpyHostToDevice);
		at += static_cast<size_t>(t.bytes);
	}
#ifdef TRIAD_OWN_WORDS_H
	triad_own_call_t own = {};
	own.words = c.words.data();
	triad_call &call = own.call;
	call.size = sizeof own;
#else
	triad_call call = {};
	call.size = sizeof call;
#endif
	call.n_in = static_cast<int32_t>(in.size());
	call.n_out = static_cast<int32_t>(out.size());
	call.n_attr = static_cast<int32_t>(c.attributes.size());
	call.in = in.data();
	call.out = out.data();
	call.attr = c.attributes.data();
	const int status = launch(c, k, call);
	for (const std::vector<Tensor> *list : {&c.in, &c.out})
		for (const Tensor &t : *list) cudaFree(t.storage);
	cudaFree(call.workspace);
	return status;
}

}  // namespace cuemu_call

int main(int argc, char **argv) {
	cuemu_call::Call call;
	if (argc != 2 || !cuemu_call::read(argv[1], call)) return fprintf(stderr, "want a file that describes a call\n"), 3;
	const triad_kernel *kernel = cuemu_call::find(call);
	if (!kernel) return fprintf(stderr, "no kernel %s is registered for this call\n", call.variant.c_str()), 3;
	return cuemu_call::run(call, kernel);
}

#endif
