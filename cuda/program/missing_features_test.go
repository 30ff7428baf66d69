package program

import "testing"

// What the emulator's CUB lacks is distinguished from the mistakes of a file, in the words of both compilers.
func TestLacksOfCUB(t *testing.T) {
	t.Parallel()
	const note = "\n/x/cuda/emulator/cub/cub.cuh:190:7: note: candidate function not viable: "
	for _, c := range []struct {
		message, notes string
		lacks          bool
	}{
		{"no matching function for call to 'cub::BlockReduce<float, 256>::BlockReduce(int)'", "", true},
		{"no matching function for call to 'cub::WarpScan<float>::InclusiveSum(int*)'", "", true},
		{"no matching constructor for initialization of 'cub::BlockReduce<float, 256>'", "", true},
		{"'class cub::WarpScan<float>' has no member named 'Broadcast'", "", true},
		{"no member named 'Broadcast' in 'cub::WarpScan<float>'", "", true},
		{"'WarpMergeSort' is not a member of 'cub'", "", true},
		{"no member named 'WarpMergeSort' in namespace 'cub'", "", true},
		{"no matching member function for call to 'InclusiveSum'", note, true},
		{"too many template arguments for class template 'BlockReduce'", note, true},
		{"cuda/emulator/cub/cub.cuh:57: no match for call to '(Op) (T&, T&)'", "", true},
		{"wrong number of template arguments (6, should be at least 2)", note, true},

		{"no matching member function for call to 'mine'", "\nx.cu:3:7: note: candidate function", false},
		{"no matching member function for call to 'mine'", "\nx.cu:9:1: error: another" + note, false},
		{"no matching function for call to 'mine(cub::WarpScan<float>&)'", "", false},
		{"no member named 'nothing' in 'Mine'", "", false},
		{"'nothing' was not declared in this scope", note, false},
		{"expected ';' before 'cub'", "", false},
	} {
		log := "x.cu:8:3: error: " + c.message + c.notes
		if text := LacksOfCUB(c.message, log); (text != "") != c.lacks {
			t.Errorf("%s: %q, want one: %v", log, text, c.lacks)
		}
	}
}
