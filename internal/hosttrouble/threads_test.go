package hosttrouble

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A thread limit too low for a run is reported beforehand; the user's other threads count.
func TestFewThreads(t *testing.T) {
	proc := t.TempDir()
	for pid, status := range map[int]string{
		10: "Name:\ta\nUid:\t7\t7\t7\t7\nThreads:\t12\n", 11: "Uid:\t8\t8\t8\t8\nThreads:\t500\n",
		12: "Uid:\t7\t7\t7\t7\nThreads:\t8\n",
	} {
		folder := filepath.Join(proc, fmt.Sprint(pid))
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "status"), []byte(status), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	used := func() uint64 { return threadsOf(proc, 7) }
	for limit, want := range map[uint64]string{
		60: "may have 60 threads (ulimit -u) and has 20", 83: "has 20", 84: "",
		1 << 20: "", 10: "has 20",
	} {
		if got := fewThreads(limit, used); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%d: %q, want %q", limit, got, want)
		}
	}
}
