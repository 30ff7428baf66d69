package check

// sanitizerAbouts explains the kinds that only a compiler's sanitizer finds.
var sanitizerAbouts = map[Kind]about{
	HostOutOfBounds: {
		"host code reads or writes out of bounds",
		"It reads or overwrites whatever lies there, and the program may crash much later, or never.",
		"Check the index against the size of the array, and the size in bytes of a copy (elements times " +
			"sizeof).",
	},
	HostUseAfterFree: {
		"host code uses memory that is gone",
		"It was given back, or its vector has grown, or its function has returned; something else may lie " +
			"there by now.",
		"Give memory back after its last use. A pointer into a vector holds until the next push_back or " +
			"resize; one to a local variable until its block ends.",
	},
	HostNullPointer: {
		"host code goes through a null pointer",
		"The program crashes here, or a compiler leaves out what stands behind it.",
		"Check what gave the pointer: an allocation, a lookup, or a variable that was never set.",
	},
	HostBadFree: {
		"host code gives memory back twice, or in another way than it got it",
		"The allocator's books are wrong from here on, and a later call crashes.",
		"One owner frees once: free for malloc, delete for new, delete[] for new[]. A std::vector or " +
			"std::unique_ptr does it by itself.",
	},
	HostLeak: {
		"host memory is never given back",
		"A program that runs long fills the machine's memory.",
		"Free it when it is not needed any more, or keep it in a std::vector or std::unique_ptr.",
	},
	HostRace: {
		"race of host code",
		"At least one of the two accesses writes, and nothing says which comes first: the result changes " +
			"from run to run.",
		"Hold one std::mutex around both, make the variable std::atomic, or join() the thread before its " +
			"results are read. Where one side is a kernel, wait for it: cudaDeviceSynchronize().",
	},
	HostLocks: {
		"a lock or a thread of the host is used wrongly",
		"The program may hang, or what the lock protects is not protected.",
		"Take locks in one order everywhere, unlock what was locked, and keep a lock alive until its last " +
			"thread is done (std::lock_guard).",
	},
	SignedOverflow: {
		"an integer overflows",
		"The value is not the one that was meant, often a negative size or index; and a compiler takes it " +
			"that this never happens, and may leave out the check that would notice.",
		"Compute in a wider type before the product is made: size_t(rows) * cols. Use unsigned numbers " +
			"where they shall wrap, as in hashes and random numbers.",
	},
	Shift: {
		"a shift by more bits than the number has, or of a negative number",
		"CPU and GPU give different results: one takes the count modulo the width, the other gives 0.",
		"Keep the count between 0 and the width less 1, and shift unsigned numbers.",
	},
	Undefined: {
		"undefined behaviour",
		"C++ does not say what happens: it may work with this compiler and not with the next.",
		"Change what the message names.",
	},
}
