package advice

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"triad/internal/backend"
	"triad/internal/cudaerror"
	"triad/internal/op"
)

// tooMuchShared is in the sentence of a kernel whose __shared__ variables exceed a block's limit.
const tooMuchShared = "bytes of static shared memory"

// launchRefused begins the sentence of a launch that CUDA refused.
const launchRefused = "CUDA refused the launch"

// illegalAddress is in the sentence of a kernel that a GPU ended for an illegal address.
var illegalAddress = fmt.Sprintf("CUDA error %d", cudaerror.IllegalAddress)

var returnedError = regexp.MustCompile(`\breturned CUDA error (\d+)\b`)

// returnedCode returns the CUDA error that a launch function returned, or 0 if it ended otherwise.
func returnedCode(o *backend.Outcome) int {
	m := returnedError.FindStringSubmatch(o.Sentence)
	if m == nil || o.Status != op.StatusCrash {
		return 0
	}
	code, _ := strconv.Atoi(m[1])
	return code
}

// dividedByZero matches the outcome of an integer division by 0: the emulator's message, and that of a
// process ended by one.
var dividedByZero = regexp.MustCompile("integer division by zero|signal floating point exception")

// torchRefused is in the message of torch about a launch that CUDA refused, which a grid of 0 blocks is.
var torchRefused = regexp.MustCompile("CUDA error: invalid (configuration )?argument")

// ExplainEmpty changes the outcome of a call whose outputs are all empty. A launch of 0 blocks, which CUDA
// refuses, is UNSUPPORTED there and not wrong: nothing was to be written. So is a division by a size of 0 in
// host code, which ends the process before a launch. dynamic means that a kernel takes dynamic shared memory.
func ExplainEmpty(o *backend.Outcome, dynamic bool) {
	if o.Status == op.StatusCrash && dividedByZero.MatchString(o.Sentence) {
		o.Status = op.StatusUnsupported
		o.Sentence = "on empty tensors it divides by a size of 0: return first where a size is 0"
		return
	}
	code := returnedCode(o)
	ended := o.Status == op.StatusCrash && strings.Contains(o.Sentence, "exited") &&
		strings.Contains(o.Sentence+o.Log, "invalid configuration argument") // it checks the error and exits
	raised := o.Status == op.StatusCrash && torchRefused.MatchString(o.Sentence)
	returned := code == cudaerror.InvalidConfiguration || code == cudaerror.InvalidValue && !dynamic
	if returned || ended || raised {
		o.Status = op.StatusUnsupported
		o.Sentence = "on empty tensors it launches 0 blocks, which CUDA refuses: return first where a " +
			"size is 0"
	}
}

// absentFunction matches the emulator's message about a call of a library function that it lacks.
var absentFunction = regexp.MustCompile(`(?m)^the emulator does not have (\w+)$`)

// absentFunctions names the library functions that a call used and the emulator lacks.
func absentFunctions(log string) string {
	var names []string
	for _, m := range absentFunction.FindAllStringSubmatch(log, -1) {
		if !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	if len(names) == 0 {
		return "a function of a library that the emulator does not have, which what it printed names"
	}
	return strings.Join(names, ", ") + " of a library, which the emulator does not have"
}

// Explain rewrites an outcome of a user's function in a learner's words. lines are the numbers of the file's
// lines with a launch; dynamic means that a kernel takes dynamic shared memory. A launch that CUDA refused
// wrote nothing: that is FAIL, a wrong answer, and not CRASH.
func Explain(o *backend.Outcome, lines []int, dynamic bool) {
	code := returnedCode(o)
	why := ""
	if code == cudaerror.NotSupported {
		o.Status = op.StatusUnsupported
		o.Sentence = "it calls " + absentFunctions(o.Log) + ": run it where a GPU is, or judge a function " +
			"that does not"
		return
	}
	switch {
	case code == cudaerror.InvalidConfiguration:
		why = "the grid or the block is 0 or too large. N / 256 is 0 blocks where N is below 256: write " +
			"(N + 255) / 256. A block has at most 1024 threads"
	case code == cudaerror.InvalidValue && dynamic:
		why = "it asks for more dynamic shared memory than a block may have. Without asking it is 48 KiB, " +
			"12288 floats; more, up to 227 KiB on an H100, needs " +
			"cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) before"
	case code == cudaerror.InvalidValue:
		why = "it, or another call of CUDA in the function, was given a value that cannot be (error 1, " +
			"invalid value): look at the sizes of the grid and the block, the bytes " +
			"of dynamic shared memory, __launch_bounds__, and what cudaMemcpy or cudaFuncSetAttribute is " +
			"given"
	case code == cudaerror.OutOfResources:
		why = "a block needs more registers or shared memory than there are (error 701): use fewer " +
			"threads a block or less shared memory, or say " +
			"__launch_bounds__(threads) at the kernel"
	}
	if why != "" {
		o.Status, o.Sentence = op.StatusFail, launchRefused+inLines(lines)+", so nothing was computed: "+why
		return
	}
	switch {
	case o.Status == op.StatusCrash && strings.Contains(o.Sentence, tooMuchShared):
		o.Status = op.StatusFail
		o.Sentence += lessShared
	case o.Status == op.StatusCrash && strings.Contains(o.Sentence, illegalAddress):
		o.Sentence += ": a thread read or wrote where no tensor lies. --device cpu runs the same and " +
			"names the line, the block and the thread"
	}
}

// ExplainBuild adds advice to the message of a failed build, if there is any.
func ExplainBuild(message string) string {
	if strings.Contains(message, tooMuchShared) {
		return message + lessShared
	}
	return message
}

// lessShared is the advice on too much static shared memory.
const lessShared = ": 48 KiB are 12288 floats; give a block less to keep, or take the memory at the " +
	"launch, extern __shared__"

// inLines names the lines of the launches: " in line 5".
func inLines(lines []int) string {
	switch len(lines) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf(" in line %d", lines[0])
	}
	return fmt.Sprintf(" in one of the lines %s",
		strings.Trim(strings.ReplaceAll(fmt.Sprint(lines), " ", ", "), "[]"))
}
