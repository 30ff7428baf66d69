package ownfile

import (
	"slices"
	"strings"
	"testing"

	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/launchfit"
	"triad/internal/ownfile/observed"
)

// twoKernels holds two kernels, the second of which takes the first one's output.
const twoKernels = `__global__ void twice(const float *x, float *t, int n) { t[n] = 2 * x[n]; }
__global__ void more(const float *t, float *y, int n) { y[n] = t[n] + 1; }
`

// Memory of n floats, a copy to or from it, and a launch, as they are seen.
func memory(floats int64) observed.Event {
	return observed.Event{Memory: &observed.Memory{Bytes: 4 * floats}}
}

func seenCopy(to, from int) observed.Event {
	return observed.Event{Copy: &observed.Copy{
		To: observed.Place{Memory: to}, From: observed.Place{Memory: from},
	}}
}

// seenLaunch has arguments of integers, of floats by their words, and of pointers to memory.
func seenLaunch(kernel string, grid, block [3]int64, shared int64, arguments ...any) observed.Event {
	l := observed.Launch{Kernel: kernel, Grid: grid, Block: block, Shared: shared, Line: 1}
	for _, argument := range arguments {
		a := observed.Argument{Kind: observed.Whole}
		switch value := argument.(type) {
		case int64:
			a.Whole = value
		case string:
			a.Kind, a.Real = observed.Real, value
		case to:
			a.Kind, a.Bytes, a.Place.Memory = observed.Pointer, 4, int(value)
		}
		l.Arguments = append(l.Arguments, a)
	}
	return observed.Event{Launch: &l}
}

// to is the number of the memory that a pointer points to.
type to int

// seen makes a file whose main() does this.
func seen(text string, events ...observed.Event) *cfacts.File {
	run := &observed.Run{Events: events}
	for _, e := range events {
		if e.Memory != nil {
			run.Memory = append(run.Memory, *e.Memory)
		}
	}
	file := cfacts.ReadCUDA(text)
	file.Observe(func() *observed.Run { return run })
	return file
}

// side is a grid or a block along x.
func side(n int64) [3]int64 { return [3]int64{n, 1, 1} }

// mainOfTwo returns the events of a main() with two kernels, and others between their launches.
func mainOfTwo(between ...observed.Event) []observed.Event {
	begin := []observed.Event{
		memory(100), memory(100), memory(100), seenCopy(0, -1),
		seenLaunch("twice", side(4), side(32), 0, to(0), to(1), int64(100)),
	}
	return slices.Concat(begin, between, []observed.Event{
		seenLaunch("more", side(4), side(32), 0, to(1), to(2), int64(100)), seenCopy(-1, 2),
	})
}

// The launches of a main() become a function of the device's pointers and of the sizes.
func TestJoinMain(t *testing.T) {
	events := mainOfTwo()
	events = append(events, events[4], events[5]) // a loop that measures
	function, ok := launchfit.JoinMain(seen(twoKernels, events...), fromXToY(t), false)
	const want = `
float *t = nullptr;
cudaMalloc(&t, size_t(4) * n);
twice<<<dim3(triad_ceildiv(n, 32), 1, 1), dim3(32, 1, 1), 0>>>(x, t, n);
more<<<dim3(triad_ceildiv(n, 32), 1, 1), dim3(32, 1, 1), 0>>>(t, y, n);
cudaFree(t);
}
`
	if !ok || !strings.HasSuffix(function, want) ||
		!strings.HasPrefix(function, "void joined_launches(const float *x, float *y, int n)\n{\n") {
		t.Errorf("joined %t:\n%s", ok, function)
	}
}

// Kernels are not joined if the host computes between them, if neither takes the other's output, or if
// nothing is known of main().
func TestNoJoinedMain(t *testing.T) {
	apart := mainOfTwo()
	apart[5] = seenLaunch("more", side(4), side(32), 0, to(0), to(2), int64(100))
	for name, events := range map[string][]observed.Event{
		"the host computes": mainOfTwo(seenCopy(-1, 1), seenCopy(1, -1)), "apart": apart,
		"no result": mainOfTwo()[:6], "nothing": nil, "another kernel": append(mainOfTwo(),
			seenLaunch("absent", side(1), side(1), 0)),
	} {
		if function, ok := launchfit.JoinMain(seen(twoKernels, events...), fromXToY(t), false); ok {
			t.Errorf("%s: joined as\n%s", name, function)
		}
	}
	if function, ok := launchfit.JoinMain(cfacts.ReadCUDA(twoKernels), fromXToY(t), false); ok {
		t.Errorf("joined without a main():\n%s", function)
	}
}

// A kernel that is the only one is joined with what main() makes from the sizes. One block may be enough for
// any of them.
func TestJoinOneKernel(t *testing.T) {
	text := `__global__ void tiles(const float *x, float *y, int rows, int cols, int Tr, int Br, float by) {
	y[rows] = x[Tr + blockIdx.x * Br]; }`
	events := []observed.Event{
		memory(640), memory(640), seenCopy(0, -1),
		seenLaunch("tiles", side(1), side(16), 9000, to(0), to(1), int64(64), int64(10), int64(4), int64(16),
			"0.5"), seenCopy(-1, 1),
	}
	function, ok := launchfit.JoinMain(seen(text, events...), rowsAndCols(t), true)
	for _, want := range []string{
		"joined_launches(const float *x, float *y, int rows, int cols)",
		"tiles<<<dim3(triad_ceildiv(triad_max(rows, cols), 16), 1, 1), dim3(16, 1, 1), 40960>>>",
		"(x, y, rows, cols, triad_ceildiv(rows, 16), 16, 0.5)",
	} {
		if !ok || !strings.Contains(function, want) {
			t.Errorf("joined %t, without %s:\n%s", ok, want, function)
		}
	}
	if function, ok := launchfit.JoinMain(seen(text, events...), rowsAndCols(t), false); ok {
		t.Errorf("one kernel works together with no other:\n%s", function)
	}
}

// The numbers of a main() follow from the sizes: scratch memory from their products, or from main()'s own if
// no product fits; the number of blocks of another launch from its grid, if main() writes both alike; a size
// that a kernel names in another way from the operator's own name for it. A side of a grid that is a constant
// of the kernel stays.
func TestJoinedNumbers(t *testing.T) {
	const text = `int main() { int blocks = (100 + 31) / 32; squares<<<blocks, 32>>>(x, t, 100);` +
		` parts<<<dim3(1, 1, PARTS), 1>>>(t, u, 100, 7, blocks, 4); }
#define PARTS 4
__global__ void squares(const float *x, float *t, int rows) { t[rows] = x[rows]; }
__global__ void parts(const float *t, float *u, int height, int cols, int num_blocks,
	int tiles) {
	u[blockIdx.z * PARTS] = t[height * cols]; }
__global__ void ends(const float *u, float *y, int rows, int cols) { y[rows] = u[cols]; }
`
	events := []observed.Event{
		memory(700), memory(10000), memory(17), memory(700), seenCopy(0, -1),
		seenLaunch("squares", side(4), side(32), 0, to(0), to(1), int64(100)),
		seenLaunch("parts", [3]int64{1, 1, 4}, side(1), 0, to(1), to(2), int64(100), int64(7), int64(4),
			int64(4)),
		seenLaunch("ends", side(4), side(32), 0, to(2), to(3), int64(100), int64(7)), seenCopy(-1, 3),
	}
	function, ok := launchfit.JoinMain(seen(text, events...), rowsAndCols(t), false)
	for _, want := range []string{
		"joined_launches(const float *x, float *y, int rows, int cols)",
		"cudaMalloc(&t, size_t(4) * rows * rows);",
		"cudaMalloc(&u, size_t(68) * (cols > 7 ? (cols + 6) / 7 : 1) * " +
			"(rows > 100 ? (rows + 99) / 100 : 1));",
		"parts<<<dim3(1, 1, 4), dim3(1, 1, 1), 0>>>(t, u, rows, cols, triad_ceildiv(rows, 32), 4);",
	} {
		if !ok || !strings.Contains(function, want) {
			t.Errorf("joined %t, without %s:\n%s", ok, want, function)
		}
	}
}

// A number that is 0 in main() divides nothing: scratch memory grows with the others alone.
func TestJoinedNumberOfZero(t *testing.T) {
	const text = `__global__ void first(const float *x, float *t, int rows, int cols) { t[rows] = x[cols]; }
__global__ void last(const float *t, float *y, int rows, int cols) { y[rows] = t[cols]; }
`
	events := []observed.Event{
		memory(700), memory(17), memory(700), seenCopy(0, -1),
		seenLaunch("first", side(4), side(32), 0, to(0), to(1), int64(100), int64(0)),
		seenLaunch("last", side(4), side(32), 0, to(1), to(2), int64(100), int64(0)), seenCopy(-1, 2),
	}
	function, ok := launchfit.JoinMain(seen(text, events...), rowsAndCols(t), false)
	if want := "cudaMalloc(&t, size_t(68) * (rows > 100 ? (rows + 99) / 100 : 1));"; !ok ||
		!strings.Contains(function, want) {
		t.Errorf("joined %t, without %s:\n%s", ok, want, function)
	}
}
