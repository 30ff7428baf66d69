package check

import (
	"fmt"
	"strings"
	"testing"
)

// TestCountsOfManyKernels: of more kernels than have tables each gets a line with its worst line of the
// source, unless all lines are asked for.
func TestCountsOfManyKernels(t *testing.T) {
	var r Report
	for i := range mostTables + 1 {
		call := fmt.Sprintf("cuda/v%d forward", i)
		at := func(line int, access, memory string, parts, least int64) Counts {
			return Counts{
				Kernel: "k", Call: call, Place: &Place{File: "/kernels/softmax.cu", Line: line},
				Access: access, Memory: memory, Requests: 10, Lanes: 320, Parts: parts, Least: least,
			}
		}
		r.Counts = append(r.Counts,
			Counts{Kernel: "k", Call: call, Launches: 1, Blocks: 4, Threads: 32},
			at(7, "read", "device", 80, 40), at(8, "write", "shared", 100, 10), at(9, diverged, "", 0, 0))
	}
	r.Counts = append(r.Counts, Counts{Call: "cuda/last backward", Launches: 1})
	for all, want := range map[bool]string{
		false: "Kernel k in cuda/v0 forward: softmax.cu:8: write shared takes 10.00 wavefronts a " +
			"request, at best 1.00.\n",
		true: "  softmax.cu:7  read device           10   32.00     8.00     4.00  sectors\n",
	} {
		var out strings.Builder
		if err := Write(&out, &r, "/kernels", all); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), want) ||
			!strings.Contains(out.String(), "Kernel without a name in") {
			t.Errorf("all %v: no %q in\n%s", all, want, out.String())
		}
	}
}
