package kernelfile

// assertCode lets a failed assert of host code decline the call: it asks for sizes, since host code does not
// see the values of tensors. One in a kernel fails as it would.
const assertCode = `struct declined : std::exception {
	const char *what() const noexcept override { return "an assert does not hold"; }
};
[[noreturn]] inline __host__ __device__ void assert_fails(const char *text, const char *file, unsigned line,
                                                          const char *function) {
#if defined(__CUDA_ARCH__)
	__assert_fail(text, file, line, function);
#else
#if !defined(__NVCC__)
	if (cuemu_in_kernel()) __assert_fail(text, file, line, function);
#endif
	std::fprintf(stderr, "%s:%u: %s: Assertion \x60%s' failed.\n", file, line, function, text);
	throw declined();
#endif
}

`

// hostCall calls a host function of a file. One whose assert fails declines the call.
func (b *Binding) hostCall(call string) string {
	if !b.asserts {
		return "\t\t" + call + ";\n"
	}
	return "\t\ttry {\n\t\t\t" + call + ";\n\t\t} catch (const ::triad_own::declined &) {\n" +
		"\t\t\treturn TRIAD_UNSUPPORTED;\n\t\t}\n"
}
