package check

import "testing"

// In half a line stand who does what, and what mends it.
func TestBrief(t *testing.T) {
	place, other := &Place{File: "a.cu", Line: 7}, &Place{File: "a.cu", Line: 9}
	block, thread, two := &[3]int{3, 0, 0}, &[3]int{232, 0, 0}, &[3]int{1, 2, 0}
	for _, c := range []struct {
		finding    Finding
		what, mend string
	}{
		{
			Finding{
				Kind: OutOfBounds, Block: block, Thread: thread, Access: "read", Byte: 4000,
				MemoryBytes: 4000,
			},
			"thread 232 of block 3 reads past the end", "if (i < n)",
		},
		{
			Finding{
				Kind: OutOfBounds, Block: block, Thread: two, Access: "write", Byte: -4,
				MemoryBytes: 4000,
			},
			"thread (1,2,0) of block 3 writes before the start", "if (i < n)",
		},
		{Finding{Kind: OutOfBounds}, "access out of bounds", "if (i < n)"},
		{
			Finding{Kind: Uninitialised, Memory: "shared memory"},
			"reads shared memory that nobody has written",
			"store every element, then __syncthreads()",
		},
		{
			Finding{Kind: Uninitialised, Memory: "device memory"},
			"reads device memory that nobody has written",
			"write it first",
		},
		{
			Finding{Kind: Race, Memory: "shared memory", Place: place, Other: place},
			"race in shared memory",
			"__syncthreads() is missing",
		},
		{
			Finding{
				Kind: Race, Memory: "device memory", Place: place, Other: other, Access: "write",
				OtherAccess: "read",
			},
			"race with line 9 in device memory",
			"two threads use one element, one of them writes",
		},
		{Finding{
			Kind: Race, Memory: "device memory", Place: place, Other: place, Access: "write",
			OtherAccess: "read",
		}, "race in device memory", "two threads change one element: atomicAdd"},
	} {
		if what, mend := c.finding.Brief(); what != c.what || mend != c.mend {
			t.Errorf("%q, %q; want %q, %q", what, mend, c.what, c.mend)
		}
	}
}

// A launch that is refused names what is refused.
func TestBriefOfARefusedLaunch(t *testing.T) {
	for message, want := range map[string]string{
		"a grid of (0,1,1) blocks has none": "a GPU refuses a grid of (0,1,1) blocks",
		"2048 threads in a block, and a card takes 1024": "a GPU refuses 2048 threads in a block, " +
			"and a card takes 1024",
		"invalid device function": "a launch that a GPU refuses: invalid device function",
	} {
		f := Finding{Kind: LaunchRefused, Message: message}
		if what, mend := f.Brief(); what != want || mend != "" {
			t.Errorf("%q, %q; want %q", what, mend, want)
		}
	}
}

// An access out of bounds by the first thread is no matter of how many threads there are.
func TestBriefOfTheFirstThread(t *testing.T) {
	f := Finding{
		Kind: OutOfBounds, Block: &[3]int{}, Thread: &[3]int{}, Access: "read", Byte: 4, MemoryBytes: 4,
	}
	what, mend := f.Brief()
	if what != "thread 0 of block 0 reads past the end" ||
		mend != "its index is too large, not its number of threads" {
		t.Errorf("%q, %q", what, mend)
	}
}
