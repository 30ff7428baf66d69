package own

import (
	"fmt"
	"strings"

	"triad/internal/backend"
	"triad/internal/op"
)

// tooMuchShared is in the sentence of a kernel whose __shared__ variables no block can have.
const tooMuchShared = "bytes of static shared memory"

// refused is in the sentence of a launch that never ran.
const refused = "CUDA refused the launch"

// ExplainEmpty is the outcome of a function on a call all of whose outputs are empty: one that launches no block there is refused by CUDA, which
// wrongs nothing, since nothing was to be written.
func ExplainEmpty(o *backend.Outcome) {
	if o.Status == op.StatusCrash && strings.Contains(o.Sentence, "CUDA error 9") {
		o.Status = op.StatusUnsupported
		o.Sentence = "on empty tensors it launches 0 blocks, which CUDA refuses: return first where a size is 0"
	}
}

// Explain puts what the harness found about a user's function into a learner's words; lines are those of its launches, dynamic says that a kernel takes
// shared memory at the launch. A launch that CUDA refused
// wrote nothing: that is a wrong answer, not a crash.
func Explain(o *backend.Outcome, lines []int, dynamic bool) {
	switch {
	case o.Status == op.StatusCrash && strings.Contains(o.Sentence, "CUDA error 9"):
		o.Status = op.StatusFail
		o.Sentence = refused + inLines(lines) + ", so nothing was computed: the grid or the block is 0 or too large. N / 256 is 0 blocks where N is below 256: " +
			"write (N + 255) / 256. A block has at most 1024 threads"
	case o.Status == op.StatusCrash && strings.Contains(o.Sentence, "CUDA error 1:") && dynamic:
		o.Status = op.StatusFail
		o.Sentence = refused + inLines(lines) + ", so nothing was computed: it asks for more dynamic shared memory than a block may have. Without asking it is 48 KiB, 12288 floats; " +
			"more, up to 227 KiB on an H100, needs cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) before"
	case o.Status == op.StatusCrash && strings.Contains(o.Sentence, tooMuchShared):
		o.Status = op.StatusFail
		o.Sentence += ": 48 KiB are 12288 floats; give a block less to keep, or take the memory at the launch, extern __shared__"
	case o.Status == op.StatusCrash && strings.Contains(o.Sentence, "CUDA error 701"):
		o.Status = op.StatusFail
		o.Sentence += ": use fewer threads a block, or less shared memory"
	}
}

// inLines says where a launch stands.
func inLines(lines []int) string {
	switch len(lines) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf(" in line %d", lines[0])
	}
	return fmt.Sprintf(" in one of the lines %s", strings.Trim(strings.ReplaceAll(fmt.Sprint(lines), " ", ", "), "[]"))
}
