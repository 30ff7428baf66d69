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
	means: "At least one of the two accesses writes, and nothing says which comes first. Since Volta " +
		"the lanes of a warp do not go in step, and volatile does not order them: code that counts on " +
		"it is out of date.",
	mend: "If the whole block uses this memory, put __syncthreads() between the two accesses, in a place " +
		"that all threads reach. If one warp alone does, put __syncwarp() there, and read before it what " +
		"another lane writes after it (float v = s[t + 16]; __syncwarp(); s[t] += v; __syncwarp();), or " +
		"sum by __shfl_down_sync.",
}

var abouts = map[Kind]about{
	Race: {
		"race: two threads",
		"At least one of the two accesses writes, and nothing says which comes first. A GPU may " +
			"run them in either order, and the result changes with the card, the driver or the load.",
		"Put __syncthreads() between the two accesses (__syncwarp() inside one warp), in a place " +
			"that all threads reach. Between blocks there is no such barrier: use an atomic " +
			"operation, two kernels, or a flag with __threadfence() before it is set.",
	},
	OutOfBounds: {
		"access out of bounds",
		"A GPU often lets this pass: it reads or overwrites whatever lies there.",
		"Check the index against the size (if (i < n)) before the access, or ask for as much " +
			"memory as is used. Sizes of cudaMalloc and cudaMemcpy are bytes, not elements.",
	},
	StackOverflow: {
		"a thread's stack is full",
		"A function calls itself too often, or arrays inside functions are too large. On a GPU recursion " +
			"has 1 KiB a thread where cudaDeviceSetLimit does not ask for more.",
		"Give the recursion an end or make it a loop, and put large arrays into device memory.",
	},
	Uninitialised: {
		"read of memory that nobody has written",
		"Neither cudaMalloc nor __shared__ clears memory: the value is whatever was there.",
		"Write it first: cudaMemset or cudaMemcpy for device memory, a store of every element and " +
			"a barrier for shared memory.",
	},
	Misaligned: {
		"misaligned access",
		"A GPU stops the kernel here: vector types are loaded whole, from a multiple of their " +
			"size.",
		"Keep the offset a multiple of the vector's elements, and load the rest one by one.",
	},
	UseAfterFree: {
		"access of memory that was given back",
		"The memory may belong to another allocation by now.",
		"Call cudaFree after the last kernel that uses it, and set the pointer to null.",
	},
	NullPointer: {
		"access through a null pointer",
		"The pointer was never set, or its allocation failed.",
		"Check what cudaMalloc returned, and the order of the kernel's arguments.",
	},
	HostPointer: {
		"a kernel uses a pointer to host memory",
		"A GPU cannot reach memory of malloc, new, a vector or a local variable: it stops the " +
			"kernel.",
		"Allocate with cudaMalloc and copy with cudaMemcpy, or use cudaMallocManaged.",
	},
	DevicePointerOnHost: {
		"host code uses a pointer to device memory",
		"With a GPU the program dies here: cudaMalloc's memory is out of the CPU's reach.",
		"Copy to the host with cudaMemcpy first, or use cudaMallocManaged.",
	},
	PointerMixup: {
		"host and device pointer mixed up",
		"The copy fails with an error, or reads memory that it must not.",
		"The destination comes first, and cudaMemcpyHostToDevice copies to the device.",
	},
	NotWaitedFor: {
		"host code uses memory while a kernel or a copy may still use it",
		"A launch and an asynchronous copy return at once; the values may be old ones or half of " +
			"the new.",
		"Call cudaDeviceSynchronize() (or cudaStreamSynchronize) before the host touches the " +
			"memory.",
	},
	Divergence: {
		"threads meet in different places",
		"A barrier or a warp function is for all threads of its block or mask at one place; on a " +
			"GPU it hangs or exchanges the wrong values.",
		"Take the call out of the branch, so that all threads reach the same one, and give each " +
			"warp function the mask of the lanes that call it.",
	},
	Deadlock: {
		"deadlock: no thread can go on",
		"Some threads wait for others that have left the kernel or wait elsewhere. A GPU hangs " +
			"here.",
		"Let all threads reach the barrier: no return and no branch around it that only some " +
			"threads take.",
	},
	Hang: {
		"a kernel does not end",
		"No block finished in the time allowed.",
		"Look at the loop's condition; a thread that waits for a flag needs volatile or an " +
			"atomic, and someone who runs to set it.",
	},
	LaunchRefused: {
		"a launch that a GPU refuses",
		"The kernel does not run at all, and its results are what was there before.",
		"Change the launch, and ask cudaGetLastError() after each.",
	},
	Launch: {"a launch fails", "The kernel does not run to its end.", "Change what the message names."},
	Trap: {
		"the kernel stops",
		"A GPU ends the kernel here, and every later call fails.",
		"Change what the message names.",
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
		"The condition is false for this thread: print the values, or mend what makes it so.",
	},
	DivisionByZero: {
		"integer division by zero",
		"A GPU does not stop: the result is an arbitrary number.",
		"Check the divisor first.",
	},
	OutOfMemory: {
		"an allocation fails",
		"The pointer stays null or what it was.",
		"Ask for less, and check what the call returned. Sizes are bytes: check the " +
			"multiplication for overflow.",
	},
	BadFree: {
		"memory is given back by the wrong pointer or function",
		"The call fails, and the memory stays lost.",
		"Give cudaFree the pointer that cudaMalloc gave, and cudaFreeHost that of cudaMallocHost.",
	},
	DoubleFree: {
		"memory is given back twice",
		"The second call fails, or frees what another allocation has got meanwhile.",
		"Free once, and set the pointer to null.",
	},
	Leak: {
		"memory is never given back",
		"A program that runs long fills the card's memory.",
		"Call cudaFree (cudaFreeHost) when it is not needed any more.",
	},
	HostCrash: {
		"the program crashes in host code",
		"This has nothing to do with a kernel.",
		"Look at the pointer or index of the line; a debugger shows the stack (gdb).",
	},
	OrderDependent: {
		"the program's output depends on the order in which threads run",
		"A GPU runs them in any order, so the output is one of several.",
		"Look for threads that use the same element, and for sums of floats by atomics, whose " +
			"order rounds.",
	},
	ExitStatus: {
		"the program says that it failed",
		"Its exit status is not zero.",
		"Look at what it printed.",
	},
	Unfinished: {
		"the program was stopped amid long work",
		"Its blocks did go on; only what they did until then was checked.",
		"Check it with smaller sizes, which show the same mistakes; --limit run=DURATION changes how " +
			"long is waited.",
	},
	Lockstep: {
		"a lane reads by volatile what another lane of its warp writes, and nothing orders the two",
		"Before Volta the lanes of a warp went in step; now they need not, and volatile does not make them.",
		"Put __syncwarp() between such accesses, or sum by __shfl_down_sync.",
	},
	BarrierSkipped: {
		"threads end and never come to this barrier",
		"A condition or a number of turns is not the same for the whole block. A GPU waits for the threads " +
			"that are left, and goes on; CUDA's programming guide calls it undefined.",
		"Let all threads reach the barrier, and put the condition around the work alone.",
	},
	NeverEnds: {
		"the program does not end",
		"It was stopped at the limit of time, outside of a kernel, where it did nothing but wait.",
		"Look for what the host waits for and nobody gives; --limit run=DURATION changes how long is " +
			"waited.",
	},
}
