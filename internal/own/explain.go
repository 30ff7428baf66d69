package own

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"triad/internal/backend"
	"triad/internal/op"
)

// tooMuchShared is in the sentence of a kernel whose __shared__ variables no block can have.
const tooMuchShared = "bytes of static shared memory"

// refused is in the sentence of a launch that never ran.
const refused = "CUDA refused the launch"

// beyond is in the sentence of a thread that a GPU ended for the address it used.
const beyond = "CUDA error 700"

// The errors of CUDA that a launch ends with which never began. A GPU and the emulator agree on them for <<<...>>>; see watched_launch.cuh.
const (
	invalidValue         = 1 // too much dynamic shared memory, or a call beside the launch
	invalidConfiguration = 9 // a grid or a block that no GPU takes
	outOfResources       = 701
)

var returnedError = regexp.MustCompile(`\breturned CUDA error (\d+)\b`)

// returned is the error of CUDA that a launch function returned; 0 where it ended otherwise.
func returned(o *backend.Outcome) int {
	m := returnedError.FindStringSubmatch(o.Sentence)
	if m == nil || o.Status != op.StatusCrash {
		return 0
	}
	code, _ := strconv.Atoi(m[1])
	return code
}

// ExplainEmpty is the outcome of a function on a call all of whose outputs are empty: one that launches no block there is refused by CUDA, which
// wrongs nothing, since nothing was to be written. dynamic says that a kernel takes shared memory at the launch.
func ExplainEmpty(o *backend.Outcome, dynamic bool) {
	if code := returned(o); code == invalidConfiguration || code == invalidValue && !dynamic {
		o.Status = op.StatusUnsupported
		o.Sentence = "on empty tensors it launches 0 blocks, which CUDA refuses: return first where a size is 0"
	}
}

// Explain puts what the harness found about a user's function into a learner's words; lines are those of its launches, dynamic says that a kernel takes
// shared memory at the launch. A launch that CUDA refused wrote nothing: that is a wrong answer, not a crash.
func Explain(o *backend.Outcome, lines []int, dynamic bool) {
	code := returned(o)
	why := ""
	switch {
	case code == invalidConfiguration:
		why = "the grid or the block is 0 or too large. N / 256 is 0 blocks where N is below 256: write (N + 255) / 256. A block has at most 1024 threads"
	case code == invalidValue && dynamic:
		why = "it asks for more dynamic shared memory than a block may have. Without asking it is 48 KiB, 12288 floats; more, up to 227 KiB on an H100, needs " +
			"cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) before"
	case code == invalidValue:
		why = "it, or another call of CUDA in the function, was given a value that cannot be (error 1, invalid value): look at the sizes of the grid and the block, the bytes " +
			"of dynamic shared memory, __launch_bounds__, and what cudaMemcpy or cudaFuncSetAttribute is given"
	case code == outOfResources:
		why = "a block needs more registers or shared memory than there are (error 701): use fewer threads a block or less shared memory, or say " +
			"__launch_bounds__(threads) at the kernel"
	}
	if why != "" {
		o.Status, o.Sentence = op.StatusFail, refused+inLines(lines)+", so nothing was computed: "+why
		return
	}
	switch {
	case o.Status == op.StatusCrash && strings.Contains(o.Sentence, tooMuchShared):
		o.Status = op.StatusFail
		o.Sentence += lessShared
	case o.Status == op.StatusCrash && strings.Contains(o.Sentence, beyond):
		o.Sentence += ": a thread read or wrote where no tensor lies. --device cpu runs the same and names the line, the block and the thread"
	}
}

// ExplainBuild adds to the message of a file that does not compile what to do about it, where that is known.
func ExplainBuild(message string) string {
	if strings.Contains(message, tooMuchShared) {
		return message + lessShared
	}
	return message
}

// lessShared is what to do about too much static shared memory.
const lessShared = ": 48 KiB are 12288 floats; give a block less to keep, or take the memory at the launch, extern __shared__"

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
