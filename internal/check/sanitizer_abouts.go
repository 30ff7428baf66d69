package check

// sanitizerAbouts explains the kinds that only a compiler's sanitizer finds.
var sanitizerAbouts = map[Kind]about{
	HostOutOfBounds: {
		"host code reads or writes out of bounds",
		"The access reads or overwrites whatever is there, and the program may crash much later, or " +
			"never.",
		"Check the index against the size of the array, and the size in bytes of a copy (elements times " +
			"sizeof).",
	},
	HostUseAfterFree: {
		"host code uses memory that is gone",
		"The memory was freed, its vector has grown, or its function has returned; it may hold " +
			"something else by now.",
		"Free memory after its last use. A pointer into a vector is valid until the next push_back or " +
			"resize, one to a local variable until its block ends.",
	},
	HostNullPointer: {
		"host code goes through a null pointer",
		"The program crashes here, or the compiler removes the code that follows.",
		"Check where the pointer comes from: an allocation, a lookup, or a variable that was never set.",
	},
	HostBadFree: {
		"host code gives memory back twice, or in another way than it got it",
		"The allocator's state is corrupt from here on, and a later call crashes.",
		"Free memory once, by its owner: free for malloc, delete for new, delete[] for new[]. " +
			"std::vector and std::unique_ptr do so automatically.",
	},
	HostLeak: {
		"host memory is never given back",
		"A long-running program runs out of memory.",
		"Free it when it is no longer needed, or keep it in a std::vector or std::unique_ptr.",
	},
	HostRace: {
		"race of host code",
		"At least one of the two accesses writes, and nothing orders them: the result varies from run " +
			"to run.",
		"Hold one std::mutex around both, make the variable std::atomic, or join() the thread before its " +
			"results are read. Where one side is a kernel, wait for it: cudaDeviceSynchronize().",
	},
	HostLocks: {
		"a lock or a thread of the host is used wrongly",
		"The program may hang, or the lock does not protect its data.",
		"Acquire locks in the same order everywhere, release each one (std::lock_guard), and keep a " +
			"lock alive until its last thread is done.",
	},
	SignedOverflow: {
		"an integer overflows",
		"The value is wrong, often a negative size or index. Compilers assume that this never happens, " +
			"and may remove a check that would detect it.",
		"Convert to a wider type before the multiplication: size_t(rows) * cols. Use unsigned integers " +
			"where wrapping is intended, as in hashes and random numbers.",
	},
	Shift: {
		"a shift by more bits than the number has, or of a negative number",
		"CPU and GPU give different results: one takes the count modulo the width, the other returns 0.",
		"Keep the count between 0 and the width minus 1, and shift unsigned numbers.",
	},
	Undefined: {
		"undefined behaviour",
		"C++ does not define the result: it may work with this compiler and fail with another.",
		"Fix the cause that the message names.",
	},
}
