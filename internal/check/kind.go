package check

// Kind is the class of mistake of a finding. The words are those of the emulator and of the JSON.
type Kind string

// The kinds. The zero value is none of them.
const (
	Race                Kind = "race"
	OutOfBounds         Kind = "out-of-bounds"
	StackOverflow       Kind = "stack-overflow"
	Uninitialised       Kind = "uninitialised"
	Misaligned          Kind = "misaligned"
	UseAfterFree        Kind = "use-after-free"
	NullPointer         Kind = "null-pointer"
	HostPointer         Kind = "host-pointer"
	DevicePointerOnHost Kind = "device-pointer-on-host"
	PointerMixup        Kind = "pointer-mixup"
	NotWaitedFor        Kind = "not-waited-for"
	Divergence          Kind = "divergence"
	Deadlock            Kind = "deadlock"
	Hang                Kind = "hang"
	LaunchRefused       Kind = "launch-refused"
	Launch              Kind = "launch"
	Trap                Kind = "trap"
	WrongBlock          Kind = "wrong-block" // another block size than a CUB template's
	Assert              Kind = "assert"
	DivisionByZero      Kind = "division-by-zero"
	OutOfMemory         Kind = "out-of-memory"
	BadFree             Kind = "bad-free"
	DoubleFree          Kind = "double-free"
	Leak                Kind = "leak"
	HostCrash           Kind = "host-crash"
	OrderDependent      Kind = "order-dependent"
	ExitStatus          Kind = "exit-status"
	NeverEnds           Kind = "never-ends"
	Unfinished          Kind = "unfinished"      // stopped during long work: becomes a note
	BarrierSkipped      Kind = "barrier-skipped" // by threads that have ended: at most a note
	Lockstep            Kind = "lockstep"        // lanes of a warp, by volatile accesses: a note

	// What sanitizers of the compiler find in host code, and undefined behaviour anywhere.
	HostOutOfBounds  Kind = "host-out-of-bounds"
	HostUseAfterFree Kind = "host-use-after-free"
	HostNullPointer  Kind = "host-null-pointer"
	HostBadFree      Kind = "host-bad-free"
	HostLeak         Kind = "host-leak"
	HostRace         Kind = "host-race"
	HostLocks        Kind = "host-locks"
	SignedOverflow   Kind = "overflow"
	Shift            Kind = "shift"
	Undefined        Kind = "undefined"
)

// Kinds lists all kinds, those of kernels first; causes of races come before races.
var Kinds = []Kind{
	WrongBlock, Race, OutOfBounds, StackOverflow, Uninitialised, Misaligned, UseAfterFree, NullPointer,
	HostPointer,
	Divergence, Deadlock, Hang, Assert, DivisionByZero, Trap, LaunchRefused, Launch,
	DevicePointerOnHost, PointerMixup, NotWaitedFor, SignedOverflow, Shift, Undefined, HostRace,
	HostLocks, HostOutOfBounds, HostUseAfterFree, HostNullPointer, HostBadFree, OutOfMemory, BadFree,
	DoubleFree, Leak, HostLeak, HostCrash, OrderDependent, ExitStatus, NeverEnds, Unfinished,
	BarrierSkipped, Lockstep,
}

// about explains a kind to the author of a program.
type about struct{ title, means, mend string }

func (k Kind) about() about {
	if a, ok := abouts[k]; ok {
		return a
	}
	if a, ok := sanitizerAbouts[k]; ok {
		return a
	}
	return about{title: string(k), means: "triad has no explanation of this kind."}
}

// ofOneWarp explains a race between lanes of one warp: many were right before Volta.
var ofOneWarp = about{
	means: "At least one of the two accesses writes, and nothing orders them. Since Volta the lanes of " +
		"a warp need not run in lockstep, and volatile does not order them: code that relies on either is " +
		"outdated.",
	mend: "If the whole block uses this memory, put __syncthreads() between the two accesses, in a " +
		"place that all threads reach. If only one warp uses it, put __syncwarp() between reads and writes " +
		"(float v = s[t + 16]; __syncwarp(); s[t] += v; __syncwarp();), or sum with __shfl_down_sync.",
}

var abouts = map[Kind]about{
	Race: {
		"race: two threads",
		"At least one of the two accesses writes, and nothing orders them. A GPU may run them in either " +
			"order, so the result depends on the card, the driver and the load.",
		"Put __syncthreads() between the two accesses (__syncwarp() within one warp), in a place that " +
			"all threads reach. Between blocks there is no such barrier: use an atomic operation, two " +
			"kernels, or a flag that is set after a __threadfence().",
	},
	OutOfBounds: {
		"access out of bounds",
		"A GPU often does not notice: the access reads or overwrites whatever is there.",
		"Check the index against the size (if (i < n)) before the access, or allocate enough memory. " +
			"cudaMalloc and cudaMemcpy take bytes, not elements.",
	},
	StackOverflow: {
		"a thread's stack is full",
		"The recursion is too deep, or arrays inside functions are too large. On a GPU a thread has 1 " +
			"KiB of stack for recursion unless cudaDeviceSetLimit raises it.",
		"End the recursion earlier or use a loop, and put large arrays into device memory.",
	},
	Uninitialised: {
		"read of memory that nobody has written",
		"Neither cudaMalloc nor __shared__ clears memory: the value is arbitrary.",
		"Initialize it: device memory with cudaMemset or cudaMemcpy, shared memory with a store to " +
			"every element and a barrier.",
	},
	Misaligned: {
		"misaligned access",
		"A GPU stops the kernel here: the address of a vector type must be a multiple of its size.",
		"Keep the offset a multiple of the vector's length, and load the remaining elements one by one.",
	},
	UseAfterFree: {
		"access of memory that was given back",
		"The memory may belong to another allocation by now.",
		"Call cudaFree after the last kernel that uses the memory, then set the pointer to null.",
	},
	NullPointer: {
		"access through a null pointer",
		"The pointer was never set, or its allocation failed.",
		"Check the return value of cudaMalloc and the order of the kernel's arguments.",
	},
	HostPointer: {
		"a kernel uses a pointer to host memory",
		"A GPU cannot access memory from malloc or new, a std::vector or a local variable: it stops the " +
			"kernel.",
		"Allocate with cudaMalloc and copy with cudaMemcpy, or use cudaMallocManaged.",
	},
	DevicePointerOnHost: {
		"host code uses a pointer to device memory",
		"With a GPU the program crashes here: the CPU cannot access memory from cudaMalloc.",
		"Copy to the host with cudaMemcpy first, or use cudaMallocManaged.",
	},
	PointerMixup: {
		"host and device pointer mixed up",
		"The copy fails with an error, or accesses the wrong memory.",
		"The first argument is the destination, and cudaMemcpyHostToDevice copies to the device.",
	},
	NotWaitedFor: {
		"host code uses memory while a kernel or a copy may still use it",
		"Launches and asynchronous copies return immediately: the host may see old or partly written " +
			"values.",
		"Call cudaDeviceSynchronize() (or cudaStreamSynchronize) before the host uses the memory.",
	},
	Divergence: {
		"threads meet in different places",
		"All threads of the block, or all lanes of the mask, must reach a barrier or warp function in " +
			"the same place; otherwise a GPU hangs or exchanges wrong values.",
		"Move the call out of the branch, so that all threads reach the same one, and give each warp " +
			"function the mask of the lanes that call it.",
	},
	Deadlock: {
		"deadlock: no thread can go on",
		"Some threads wait for others that have left the kernel or wait elsewhere. A GPU hangs " +
			"here.",
		"Let all threads reach the barrier: do not put it into a branch, or after a return, that only " +
			"some threads take.",
	},
	Hang: {
		"a kernel does not end",
		"No block finished within the time limit.",
		"Check the loop's condition. A thread that waits for a flag must read it by volatile or an " +
			"atomic, and the thread that sets it must be able to run.",
	},
	LaunchRefused: {
		"a launch that a GPU refuses",
		"The kernel does not run, and its outputs keep their old contents.",
		"Change the launch, and call cudaGetLastError() after every launch.",
	},
	Launch: {"a launch fails", "The kernel does not complete.", "Fix the cause that the message " +
		"names."},
	Trap: {
		"the kernel stops",
		"A GPU ends the kernel here, and every later call fails.",
		"Fix the cause that the message names.",
	},
	WrongBlock: {
		"a function of CUB is declared for another block",
		"CUB ranks threads by the dimensions in its template: threads share a rank, or parts of the " +
			"result are missing.",
		"Give the template the dimensions of the launch, as in cub::BlockReduce<T, 16, " +
			"cub::BLOCK_REDUCE_WARP_REDUCTIONS, 16>, or launch blocks of its size.",
	},
	Assert: {
		"an assert in a kernel fails",
		"A GPU ends the kernel here, and every later call fails.",
		"The condition is false for this thread: print the values, and fix the cause.",
	},
	DivisionByZero: {
		"integer division by zero",
		"A GPU does not stop: the result is an arbitrary number.",
		"Check the divisor first.",
	},
	OutOfMemory: {
		"an allocation fails",
		"The pointer is not set.",
		"Allocate less, and check the return value. Sizes are in bytes: check the multiplication for " +
			"overflow.",
	},
	BadFree: {
		"memory is given back by the wrong pointer or function",
		"The call fails, and the memory leaks.",
		"Free pointers from cudaMalloc with cudaFree, and those from cudaMallocHost with cudaFreeHost.",
	},
	DoubleFree: {
		"memory is given back twice",
		"The second call fails, or frees another allocation that reuses the memory.",
		"Free once, and set the pointer to null.",
	},
	Leak: {
		"memory is never given back",
		"A long-running program runs out of device memory.",
		"Call cudaFree (cudaFreeHost) when it is no longer needed.",
	},
	HostCrash: {
		"the program crashes in host code",
		"No kernel is involved.",
		"Check the pointers and indices in this line; a debugger (gdb) shows the stack.",
	},
	OrderDependent: {
		"the program's output depends on the order in which threads run",
		"A GPU runs threads in any order, so the output varies.",
		"Look for threads that use the same element, and for floating-point sums by atomics, whose " +
			"rounding depends on the order.",
	},
	ExitStatus: {
		"the program says that it failed",
		"Its exit status is not zero.",
		"Read its output.",
	},
	Unfinished: {
		"the program was stopped amid long work",
		"It was still making progress; only the part up to then was checked.",
		"Check it with smaller sizes, which show the same bugs, or raise the limit with --limit " +
			"run=DURATION.",
	},
	Lockstep: {
		"a lane reads by volatile what another lane of its warp writes, and nothing orders the two",
		"Before Volta the lanes of a warp ran in lockstep; now they need not, and volatile does not " +
			"order them.",
		"Put __syncwarp() between such accesses, or sum with __shfl_down_sync.",
	},
	BarrierSkipped: {
		"threads end and never come to this barrier",
		"A condition or a loop count differs between threads of the block. A GPU waits only for the " +
			"threads that have not ended; CUDA's programming guide leaves the behavior undefined.",
		"Let all threads reach the barrier, and put only the work into the branch.",
	},
	NeverEnds: {
		"the program does not end",
		"It was stopped at the time limit, outside of a kernel, while it was only waiting.",
		"Find out what the host waits for, or raise the limit with --limit run=DURATION.",
	},
}
