package check

import (
	"fmt"
	"regexp"
	"strings"
)

// Brief returns half a line about the finding, without the place of the access, and its usual remedy; "" if
// none is known.
func (f *Finding) Brief() (what, mend string) {
	mend = mendings[f.Kind]
	if f.Kind == Race {
		mend = f.orders()
	}
	first := [3]int{}
	if f.Kind == OutOfBounds && f.Thread != nil && f.Block != nil && *f.Thread == first && *f.Block == first {
		mend = "its index is too large, not its number of threads"
	}
	if f.Kind == Uninitialised && strings.HasPrefix(f.Memory, "shared") {
		mend = "store every element, then __syncthreads()"
	}
	return f.happens(), mend
}

// happens describes the accesses of the finding and the threads that make them.
func (f *Finding) happens() string {
	who := f.thread()
	switch {
	case f.Kind == Race && f.Other.known() && f.Place.known() && f.Other.Line != f.Place.Line:
		return fmt.Sprintf("race with line %d in %s", f.Other.Line, f.memory())
	case f.Kind == Race:
		return "race in " + f.memory()
	case f.Kind == OutOfBounds && who != "" && f.MemoryBytes > 0 && f.Byte < 0:
		return who + " " + f.does() + " before the start"
	case f.Kind == OutOfBounds && who != "" && f.MemoryBytes > 0:
		return who + " " + f.does() + " past the end"
	case f.Kind == Uninitialised && f.Memory != "":
		return "reads " + f.Memory + " that nobody has written"
	case f.Kind == LaunchRefused && refused.MatchString(f.Message):
		return "a GPU refuses " + strings.TrimSuffix(f.Message, " has none")
	case f.Message != "":
		return f.Kind.about().title + ": " + f.Message
	}
	return f.Kind.about().title
}

// refused matches the message of a refused launch that begins with what is refused: a grid of (0,1,1) blocks,
// 2048 threads in a block.
var refused = regexp.MustCompile(`^(a|\d+) `)

// thread names the thread: thread 232 of block 3; "" if it is unknown.
func (f *Finding) thread() string {
	if f.Thread == nil || f.Block == nil {
		return ""
	}
	return "thread " + inGrid(f.Thread) + " of block " + inGrid(f.Block)
}

// inGrid returns a number where only x counts, else all three.
func inGrid(at *[3]int) string {
	if at[1] == 0 && at[2] == 0 {
		return fmt.Sprint(at[0])
	}
	return index(at)
}

func (f *Finding) does() string {
	if f.Access == "write" {
		return "writes"
	}
	return "reads"
}

// orders returns the remedy that orders the two accesses of a race.
func (f *Finding) orders() string {
	oneLine := f.Place.known() && f.Other.known() && *f.Place == *f.Other
	switch {
	case strings.HasPrefix(f.Memory, "shared"):
		return "__syncthreads() is missing"
	case oneLine && f.Access != f.OtherAccess:
		return "two threads change one element: atomicAdd"
	}
	return "two threads use one element, one of them writes"
}

// mendings holds the usual remedies, by kind.
var mendings = map[Kind]string{
	OutOfBounds:         "if (i < n)",
	Uninitialised:       "write it first",
	Misaligned:          "keep the offset a multiple of the vector's elements",
	UseAfterFree:        "call cudaFree after the last kernel that uses it",
	HostPointer:         "cudaMalloc and cudaMemcpy, or cudaMallocManaged",
	DevicePointerOnHost: "cudaMemcpy to the host first",
	NotWaitedFor:        "call cudaDeviceSynchronize() first",
	Divergence:          "all threads of the block have to reach the call: take it out of the branch",
	Deadlock:            "all threads of the block have to reach the barrier",
	Leak:                "cudaFree",
}
