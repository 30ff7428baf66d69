// Package advice tells the author of a kernel the usual causes of what was found. Explain rewrites the
// outcome of one call (a launch that CUDA refused, too much shared memory, an illegal address); For turns the
// facts that the search for the smallest failing case established into sentences. It decides no verdict
// beyond what Explain says of refused launches.
package advice

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"triad/internal/op"
)

// Facts holds what the search for the smallest failing case established about a wrong function.
type Facts struct {
	Formula string // of the operator's forward
	// SpecialNumbers is the spec's advice if only special numbers are wrong, or "" if it has none.
	SpecialNumbers string
	Unwritten      string // the spec's advice if elements stay unwritten; "" if it has none
	Usual          string // the most common error of the operator's kernels, by the spec; "" if it gives none
	Layout         string // of the inputs and outputs of the pass: "a [m, k], b [n, k], c [m, n]"
	Pass           op.Pass
	Status         op.Status
	DType          string
	Exact          bool // bits are compared: nothing is rounded on the way
	Distribution   string
	Message        string // of the smallest failing case
	Log            string // the tail of what the worker of that case printed
	// ULP is the largest error there, in units in the last place; NaN or infinite where a class is wrong.
	// Largest is that of the case that the search began with.
	ULP, Largest float64
	Python       bool // it is a Python function
	// Race: some case ended as a RACE. Shares: shared memory is used. NoBarrier: it is used, and the file has
	// no __syncthreads().
	Race, Shares, NoBarrier bool
	// OrdinaryPasses: on ordinary numbers the same shape is right.
	OrdinaryPasses bool
	// OnlyAt: the values of an input at which alone the function is wrong, "x = 0 or NaN"; "" if there are
	// none.
	OnlyAt string
	// Tried is the deciding size and its values that were run, with the others as in the smallest case.
	Tried Tried
	// UpTo: each value of Tried above Last is wrong, and Last is right.
	UpTo bool
	Last int64
	// Multiple: right where the size of Tried is a multiple of this number, wrong next to it; 0 if that is
	// not so.
	Multiple int64
	// PowersOfTwo: right where the size of Tried is a power of two, wrong where it is none.
	PowersOfTwo bool
	// FullBlock: right where the size of Tried has this value, wrong where it is less; 0 if that is not so.
	FullBlock int64
	// Smallest: the smallest case has the smallest sizes that there are.
	Smallest bool
	Masks    []MaskedLoad      // of a Triton file
	Divided  []IntegerDivision // of a CUDA file
	NoSum    bool              // of a Python file: its backward adds nothing up
	// Reported: the emulator has named lines of the smallest case, with their meaning. Guesses from sizes and
	// numbers would only repeat or contradict it.
	Reported bool
	// Otherwise is another value of an unspecified attribute with which the function is right:
	// "interleaved=true", or "" if there is none.
	Otherwise  string
	JudgedWith string // the value that the function was judged with
	// Ignored: right if no target is this attribute, "ignore_index = -100", wrong if some are.
	Ignored string
	// Transposed: wrong where both sizes of the matrix Matrix are 2 or more, even equal ones, and right where
	// one of them is 1.
	Transposed [2]string
	Matrix     string
	// Written: the wrong values of the output Matrix are the true ones of the transposed positions.
	Written bool
	// Square: right where these two sizes are equal, wrong where they differ.
	Square [2]string
}

// For returns what usually causes these facts, in a learner's words, or "" if nothing is known.
func For(f Facts) string {
	var words []string
	if read := endedLane.FindStringSubmatch(f.Log); read != nil && strings.Contains(f.Message, "NaN") {
		return fmt.Sprintf(
			"line %s: %s of a thread that has returned, or that the block does not have, gives an "+
				"undefined value, and it was read in such a run: let all threads of the warp "+
				"reach the shuffle, and give those without an element what changes nothing",
			read[1],
			read[2],
		)
	}
	if strings.Contains(f.Message, misaligned) {
		return f.misaligned()
	}
	if f.Otherwise != "" {
		name, value, _ := strings.Cut(f.Otherwise, "=")
		return fmt.Sprintf("with %s = %s it is right. The function has no parameter for %s and was judged "+
			"with %s: if %s is what it computes, say --attr %s",
			name, value, name, f.JudgedWith, value, f.Otherwise)
	}
	if f.OnlyAt != "" && f.SpecialNumbers == "" { // else the operator's own advice says more
		return fmt.Sprintf("it is right but at %s. The formula says what holds there: %s", f.OnlyAt,
			f.Formula)
	}
	if f.Ignored != "" {
		return fmt.Sprintf("it is right where every target is a class and wrong where some are %s: such "+
			"a row gives 0, adds nothing to a sum and does not count in a mean, which is divided by the "+
			"rows that are left, or by 1 where none is", f.Ignored)
	}
	if f.Transposed[0] != "" && f.Written {
		return fmt.Sprintf("the right values stand in the transposed places: %[3]s is written, or what it "+
			"is made of is read, column after column. %[3]s [%[1]s, %[2]s] lies "+
			"row after row: element (i, j) is at i * %[2]s + j, not at j * %[1]s + i", f.Transposed[0],
			f.Transposed[1], f.Matrix)
	}
	if f.Transposed[0] != "" {
		return fmt.Sprintf("it is right where %[1]s or %[2]s is 1 and wrong where both are larger: a "+
			"matrix is taken transposed, column after column. %[3]s [%[1]s, %[2]s] lies row "+
			"after row: element (i, j) is at i * %[2]s + j, not at j * %[1]s + i", f.Transposed[0],
			f.Transposed[1], f.Matrix)
	}
	if f.Square[0] != "" {
		words = append(words, fmt.Sprintf("it is right where %s = %s and wrong where they differ: an "+
			"index uses one for the other. In a row-major matrix element (r, c) "+
			"lies at r * %s + c, where %s is the number of columns", f.Square[0], f.Square[1], f.Square[1],
			f.Square[1]))
	}
	if f.Multiple > 0 && f.outOfBounds() {
		return fmt.Sprintf("it is right where %s is a multiple of %d and wrong beside it%s: a thread works "+
			"beyond the end of a tensor, since the last block has more threads "+
			"than there are elements. Compare the index with the size before using it, as in if (i < n)",
			f.Tried.Size, f.Multiple, f.Tried.inBrackets())
	}
	words = append(append(words, f.ofDivisions()...), f.ofSizes()...)
	if f.Reported && f.Status == op.StatusFail {
		return strings.Join(words, "; ")
	}
	return strings.Join(slices.Concat(words, f.byStatus(), f.ofMasks()), "; ")
}

// ofSizes lists the tested values of a size that are right and those that are wrong.
func (f Facts) ofSizes() []string {
	size := f.Tried.Size
	switch {
	case f.Multiple > 0 && f.Reported:
		return []string{fmt.Sprintf("it is right where %s is a multiple of %d and wrong beside it%s", size,
			f.Multiple, f.Tried.inBrackets())}
	case f.Multiple > 0:
		return []string{fmt.Sprintf("it is right where %s is a multiple of %d and wrong beside it%s: "+
			"the tail is not handled. Round the number of blocks up, "+
			"(%s + %d) / %d, let loops run to %s, and compare every index with it", size, f.Multiple,
			f.Tried.inBrackets(), size, f.Multiple-1, f.Multiple, size)}
	case size == "" || f.OrdinaryPasses:
		return nil
	case f.PowersOfTwo:
		return []string{fmt.Sprintf("it is right where %s is a power of two and wrong elsewhere%s: "+
			"the block is rounded up to a power of two, and its lanes beyond %s take part in the result",
			size, f.Tried.inBrackets(), size)}
	case f.FullBlock > 0:
		return []string{fmt.Sprintf("it is right where %s is %d, a whole block, and wrong below%s: lanes of "+
			"the block beyond %s take part in the result", size, f.FullBlock, f.Tried.inBrackets(), size)}
	case f.UpTo && !(f.lowPrecision() && f.Last < 32):
		return []string{f.Tried.String() + afterLimit(f)}
	case !f.UpTo:
		return []string{f.Tried.String()}
	}
	return nil
}

func afterLimit(f Facts) string {
	if f.Reported {
		return ""
	}
	where := strings.Contains(f.Message, "tiles may meet") // the operator has its own word for what is wrong
	if slices.Contains([]int64{32, 64, 128, 256, 512, 1024}, f.Last) && !f.Python && !where {
		return fmt.Sprintf(": %d threads are not enough for it; let every thread loop over several "+
			"elements, i += blockDim.x", f.Last)
	}
	return ""
}

// outOfBounds reports whether a thread used memory outside of every tensor.
func (f Facts) outOfBounds() bool {
	return f.Status == op.StatusOutOfBounds || strings.Contains(f.Message, illegalAddress)
}

func (f Facts) byStatus() []string {
	settled := f.Multiple > 0 || f.Square[0] != "" || f.PowersOfTwo || f.FullBlock > 0
	switch {
	case strings.Contains(f.Message, tooMuchShared):
		return nil
	case strings.Contains(f.Message, launchRefused) || strings.Contains(f.Message, " returned values, want "):
		return nil
	case f.ofAnotherKind():
		return f.wrongShape()
	case f.Status == op.StatusCrash && !f.outOfBounds() || f.Status == op.StatusHang ||
		f.Status == op.StatusOOM:
		// Nothing was compared: the outcome's own sentence says where.
		return nil
	case f.NoBarrier && !f.outOfBounds():
		return []string{"the threads share memory and the file has no __syncthreads(): put one between " +
			"writing shared memory and reading what other threads wrote"}
	case f.Status == op.StatusRace || f.Race && !f.outOfBounds():
		return []string{"threads read what other threads have not written yet, or write the same place: " +
			"put __syncthreads() between writing shared memory and " +
			"reading it, and again before it is overwritten; add to one place with atomicAdd" +
			f.addsToNothing()}
	case f.outOfBounds() && f.Square[0] != "":
		return nil
	case f.outOfBounds():
		return []string{f.pastATensor()}
	case f.Status == op.StatusDivergent || f.Status == op.StatusDeadlock:
		return []string{"not every thread of the block reaches the __syncthreads() or shuffle: take it " +
			"out of the if, or let no thread return before it"}
	case strings.Contains(f.Message, "never written") && (f.Unwritten != "" && !f.UpTo || !settled):
		return f.unwritten()
	case f.OrdinaryPasses:
		return []string{f.specialNumbers()}
	case f.roundedOtherwise() && !settled:
		return []string{"every value is right or off by 1: it is rounded another way. A cast to an integer " +
			"drops what lies behind the point; rintf takes the nearest, of two the even one"}
	case f.DType == op.E2M1x2.String() && !f.UpTo && !settled:
		return []string{f.start() + ". A byte holds two fp4 numbers, the first in " +
			"its low half: a sign, two bits of exponent, one of fraction; without exponent they are " +
			"0 and 0.5. Compare where each scale begins and ends with " + f.Formula + ", and add up in float"}
	case f.lowPrecision() && !settled:
		return []string{"every value is near the truth, but further off than one rounding at the end: " +
			"sums or other steps are kept in " + f.DType +
			". Convert to float first, compute and sum in float, round once when storing"}
	case f.missingSum() != "" && !settled:
		return []string{f.missingSum() + " is missing: the backward adds nothing up. It is " + f.Formula}
	case !f.UpTo && !settled && f.ULP < 4096 && !f.Exact && !f.integers(): // not a NaN
		return []string{"every value is near the truth, but not near enough: look for an approximation, " +
			"or for a constant such as eps that is off"}
	case !f.UpTo && !settled && f.Shares && f.Distribution == "normal" &&
		strings.Contains(f.Message, "NaN") && !strings.Contains(f.Message, "want NaN"):
		return []string{"it makes NaN of ordinary numbers: shared memory starts as NaN in the emulator and " +
			"as anything on a GPU, and an element of it is read that no thread has written, or not yet: " +
			"put __syncthreads() between writing shared memory and reading what other threads wrote"}
	case !f.UpTo && !settled:
		return []string{f.everywhere()}
	}
	return nil
}

// everywhere returns the advice if neither sizes, nor kinds of numbers, nor a small error explain anything.
func (f Facts) everywhere() string {
	usual := ""
	if f.Usual != "" && f.Pass == op.Forward {
		usual = ". What is missed most: " + f.Usual
	}
	return f.start() + ". Compare it with the formula, " + f.Formula +
		", and with what lies where: " + f.Layout + ", each row after row, the last size without gaps" + usual
}

// start returns how far sizes explain the failure when nothing else does.
func (f Facts) start() string {
	if f.Smallest {
		return "it is wrong at the smallest shape already"
	}
	return "no pattern of sizes explains it"
}

// firstThread matches the place of the first thread of a launch in a message.
var firstThread = regexp.MustCompile(`block \(0, ?0, ?0\), thread \(0, ?0, ?0\)`)

// beforeTheStart reports whether the access lies in front of a tensor.
func (f Facts) beforeTheStart() bool {
	return strings.Contains(f.Message, "before the start of")
}

// pastATensor returns the advice for an access past either end of a tensor.
func (f Facts) pastATensor() string {
	if f.beforeTheStart() {
		return "a thread works in front of the first element of a tensor: its index is negative, as " +
			"x[i - 1] is where i is 0; check that an index is at least 0 before using it"
	}
	if firstThread.MatchString(f.Message) {
		return "the first thread already works beyond the end of a tensor: its index is too large, as in " +
			"x[i + 1], not the number of threads"
	}
	return "a thread works beyond the end of a tensor: the last block has more threads than there are " +
		"elements; compare the index with the size before using it, as in if (i < n)"
}

// addsToNothing returns another cause of a difference between two launches where an output is NaN: outputs
// begin as NaN.
func (f Facts) addsToNothing() string {
	if !strings.Contains(f.Message, "is NaN, want") || strings.Contains(f.Message, "want NaN") {
		return ""
	}
	return "; an output to which the kernel adds, y[i] += v, holds anything before: write it first"
}

// endedLane matches the emulator's message about a shuffle that reads a thread that has ended.
var endedLane = regexp.MustCompile(
	`triad: [^\n]*?:(\d+): (__shfl\w*) of lane \d+ reads lane \d+, whose thread has ended`,
)

// misaligned begins the message of an access to an address that is not a multiple of its size.
const misaligned = "misaligned address"

// takenAtOnce matches the number of bytes of such an access.
var takenAtOnce = regexp.MustCompile(misaligned + `: (\d+) bytes`)

// misaligned returns the advice for such an access.
func (f Facts) misaligned() string {
	where := ""
	if f.Multiple > 0 {
		where = fmt.Sprintf(
			"it is right where %s is a multiple of %d and stops beside it: ",
			f.Tried.Size,
			f.Multiple,
		)
	}
	bytes := 16
	if read := takenAtOnce.FindStringSubmatch(f.Message); read != nil {
		bytes, _ = strconv.Atoi(read[1])
	}
	return where + fmt.Sprintf("%d bytes, as a %s has, are read or written at once where their address is "+
		"not a multiple of %[1]d, which a GPU refuses. Row r begins at r * its length: take several "+
		"elements at once where the length is a multiple of their number, and single elements elsewhere",
		bytes, map[int]string{2: "half", 4: "half2", 8: "float2", 16: "float4"}[bytes])
}

var nothingWritten = regexp.MustCompile(`never written; (\d+) of (\d+) elements?`)

// returnsItsResult reports whether a Python function left an output alone that it has a parameter for, and
// returned a tensor, as the worker printed (pybridge/user_files/returned_values.py).
func (f Facts) returnsItsResult() bool {
	m := nothingWritten.FindStringSubmatch(f.Message)
	return m != nil && m[1] == m[2] &&
		strings.Contains(f.Log, "returned a tensor, which is not read: the outputs are parameters")
}

// unwritten returns the advice if elements keep their initial values: the operator's, if no size matters.
func (f Facts) unwritten() []string {
	if f.returnsItsResult() {
		return []string{"it returns a tensor; the format wants the output written: copy the result into " +
			"the parameter of the output, as in out.copy_(result)"}
	}
	if f.Unwritten != "" && !f.UpTo {
		return []string{"elements stay unwritten: " + f.Unwritten}
	}
	return []string{"elements stay unwritten: the grid has too few blocks (N / 256 rounds down: write " +
		"(N + 255) / 256), or a loop or a comparison ends too early"}
}

var shapes = regexp.MustCompile(`came back with shape \[(\d+) (\d+)\], want \[(\d+) (\d+)\]`)

// wrongShape returns the advice for an output of another shape, which is not compared. Only a transposed one
// is explained; for others the outcome's own sentence suffices.
func (f Facts) wrongShape() []string {
	if m := shapes.FindStringSubmatch(f.Message); m != nil && m[1] == m[4] && m[2] == m[3] {
		return []string{"rows and columns of the result are exchanged: give it back as it is, not " +
			"transposed; what lies where: " + f.Layout}
	}
	return nil
}

// roundedOtherwise reports whether integers are off by at most one.
func (f Facts) roundedOtherwise() bool {
	return f.integers() && !f.Exact && f.Status == op.StatusFail && f.ULP > 0 && f.ULP <= 1 && f.Largest <= 1
}

// integers reports whether the main tensors hold integers.
func (f Facts) integers() bool {
	return strings.HasPrefix(f.DType, "int") || strings.HasPrefix(f.DType, "uint")
}

// lowPrecision reports whether the values are off as if intermediates were kept in 16 bits: close to the
// truth, but by more than one rounding, or an overflow of that range.
func (f Facts) lowPrecision() bool {
	return f.DType != "fp32" && f.DType != op.E2M1x2.String() && !f.integers() && !f.Exact &&
		f.Status == op.StatusFail &&
		(f.ULP >= 0.5 && f.ULP < 4096 || strings.Contains(f.Message, "breaks the relation"))
}

// specialNumbers returns the advice for a function that is wrong only on large, equal or special numbers.
func (f Facts) specialNumbers() string {
	start := fmt.Sprintf("on ordinary numbers this shape is right, on others (%s) it is wrong: ",
		f.Distribution)
	if strings.HasPrefix(f.Distribution, "neg_inf_") && strings.Contains(f.Message, "NaN") {
		return start + "some inputs are -infinity there, and -INFINITY - (-INFINITY) is NaN: where " +
			"the maximum so far is -INFINITY nothing has been seen, so leave exp(x - maximum) out, or take " +
			"0 for it"
	}
	if f.SpecialNumbers != "" {
		return start + f.SpecialNumbers
	}
	return start + "look for an exp, a square or a product that overflows, and for a NaN or infinity that " +
		"is lost"
}
