package cuda

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"triad/cuda/rewrite"
	"triad/internal/need"
	"triad/internal/op"
	"triad/internal/tensor"
)

// emulated compiles programs for the emulator, in one way: the emulator once as a library, each program against it.
type emulated struct {
	compiler string
	flags    []string
	folder   string
	library  func() (string, error)
}

var emulatorFolder, emulatorTests = "emulator", filepath.Join("testdata", "emulator")

func newEmulated(t testing.TB, compiler string, flags ...string) *emulated {
	t.Helper()
	path := ""
	if compiler == "clang++" {
		path = need.Clang(t)
	} else {
		path = need.Tool(t, compiler)
	}
	e := &emulated{compiler: path, flags: append([]string{"-std=c++17", "-g1", "-pthread", "-ffp-contract=off", "-Wno-unknown-pragmas"}, flags...), folder: t.TempDir()}
	e.library = sync.OnceValues(func() (string, error) {
		sources, err := filepath.Glob(filepath.Join(emulatorFolder, "*.cc"))
		if err != nil || len(sources) == 0 {
			return "", fmt.Errorf("find the emulator's sources: %d, %v", len(sources), err)
		}
		library := filepath.Join(e.folder, "libtriad_emulator.so")
		return library, e.compile(append([]string{"-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-I", emulatorFolder, "-o", library, "-ldl"}, sources...)...)
	})
	return e
}

func (e *emulated) compile(args ...string) error {
	command := exec.Command(e.compiler, append(append([]string{}, e.flags...), args...)...)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", e.compiler, strings.Join(command.Args[1:], " "), err, out)
	}
	return nil
}

// build rewrites and compiles one file of testdata/emulator; extra may make a library of it.
func (e *emulated) build(t testing.TB, name string, extra ...string) string {
	t.Helper()
	library, err := e.library()
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(emulatorTests, name)
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	rewritten, err := rewrite.Source(source, text)
	if err != nil {
		t.Fatal(err)
	}
	unit, program := filepath.Join(e.folder, name+".cc"), filepath.Join(e.folder, strings.TrimSuffix(name, ".cu"))
	if err := os.WriteFile(unit, rewritten.Text, 0o644); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-I", emulatorFolder, "-include", "cuda_runtime.h", unit, "-o", program}, extra...)
	if len(extra) == 0 {
		args = append(args, library, "-Wl,-rpath,"+e.folder)
	}
	if err := e.compile(args...); err != nil {
		t.Fatal(err)
	}
	return program
}

// buildWithKernels is build for a program that includes what kernel files include; other folders come before theirs.
func (e *emulated) buildWithKernels(t testing.TB, name string, folders ...string) string {
	t.Helper()
	library, err := e.library()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{library, "-Wl,-rpath," + e.folder}
	for _, folder := range folders {
		args = append(args, "-I", folder)
	}
	return e.build(t, name, append(args, kernelIncludes...)...)
}

// run gives what a program wrote and its exit status; a program that does not end is killed.
func runEmulated(t testing.TB, order, program string, args ...string) (output string, status int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	command := exec.CommandContext(ctx, program, args...)
	command.Env = append(os.Environ(), "CUEMU_ORDER="+order, "CUEMU_WORKERS=2", "TSAN_OPTIONS=atexit_sleep_ms=0", "ASAN_OPTIONS=detect_leaks=1")
	out, err := command.CombinedOutput()
	if ctx.Err() != nil {
		t.Fatalf("%s %v in order %s did not end:\n%s", program, args, order, out)
	}
	if exit, failed := err.(*exec.ExitError); failed {
		return string(out), exit.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(out), 0
}

// bugLine is the line of a file of testdata/emulator that carries the comment BUG(name).
func bugLine(t *testing.T, file, name string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(emulatorTests, file))
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(string(text), "\n") {
		if strings.Contains(line, "// BUG("+name+")") {
			return i + 1
		}
	}
	t.Fatalf("%s has no line BUG(%s)", file, name)
	return 0
}

// addressLine asks addr2line for the file and line of an offset in a module.
func addressLine(t *testing.T, module, offset string) string {
	t.Helper()
	out, err := exec.Command(need.Tool(t, "addr2line"), "-e", module, offset).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

var allOrders = []string{"forward", "reverse", "random:1", "greedy:1", "greedy:2", "greedy:3"}

// What each bug of the zoo must end in without a sanitizer: a report that contains a text, or another output than the fixed twin in one of the
// orders. line: the report, or the fault's address, names the line.
var zooReports = []struct {
	name, text string
	line       bool
}{
	{"missing_if", "past the end of buffer", true},
	{"read_past_end", "invalid read of", true},
	{"dynamic_shared", "past the end of dynamic shared memory", true},
	{"divergent_barrier", "different barriers", true},
	{"divergent_mask", "different warp functions", true},
	{"not_in_mask", "which leaves it out", true},
	{"deadlock", "still missing lanes ffff0000", true},
	{"divide", "integer division by zero, block (0,0,0), thread (70,0,0)", true},
	{"trap", "called __trap", true},
	{"streamed", "given an address in shared memory", true},
	{"wild", "invalid write to address 0x8, near no buffer", true},
	{"too_much_shared", "more than 49152 bytes of static shared memory", false},
}

func TestEmulatorZoo(t *testing.T) {
	t.Parallel()
	zoo := newEmulated(t, "g++", "-O2").build(t, "zoo.cu")
	t.Run("reports", func(t *testing.T) { zooReportsAreMade(t, zoo) })
	t.Run("orders", func(t *testing.T) { zooRacesShow(t, zoo) })
}

func zooReportsAreMade(t *testing.T, zoo string) {
	pc := regexp.MustCompile(`addr2line -e (\S+) (0x[0-9a-f]+)`)
	for _, bug := range zooReports {
		for _, order := range []string{"forward", "greedy:1"} {
			out, status := runEmulated(t, order, zoo, bug.name, "buggy")
			text := bug.text
			if order != "forward" {
				text, _, _ = strings.Cut(text, ", block") // another order may meet another thread first
			}
			if status != 3 || !strings.Contains(out, text) {
				t.Errorf("%s, %s: status %d, want 3 and %q in\n%s", bug.name, order, status, text, out)
				continue
			}
			if !bug.line {
				continue
			}
			where := fmt.Sprintf("zoo.cu:%d", bugLine(t, "zoo.cu", bug.name))
			if m := pc.FindStringSubmatch(out); m != nil {
				out += addressLine(t, m[1], m[2])
			}
			if !strings.Contains(out, where) {
				t.Errorf("%s, %s: no %s in\n%s", bug.name, order, where, out)
			}
		}
	}
}

// zooRacesShow: a race or a read of memory that nobody wrote shows as bits that depend on the order, or as NaN; the fixed twin gives the same bits in all.
func zooRacesShow(t *testing.T, zoo string) {
	fixed := map[string]string{}
	for _, name := range []string{"tree", "softmax_reuse", "missing_syncwarp", "uninitialised", "static_shared", "tile_row", "plain_add", "missing_if",
		"dynamic_shared", "divergent_barrier", "divergent_mask", "deadlock", "too_much_shared"} {
		for _, order := range allOrders {
			out, status := runEmulated(t, order, zoo, name, "fixed")
			if status != 0 || !strings.HasSuffix(out, " nans=0\n") {
				t.Fatalf("%s fixed, %s: status %d, output %q", name, order, status, out)
			}
			if before, seen := fixed[name]; seen && before != out {
				t.Errorf("%s fixed gives %q in order %s, %q before", name, out, order, before)
			}
			fixed[name] = out
		}
	}
	for name, orders := range map[string][]string{
		"tree":             {"forward", "random:1", "greedy:1", "greedy:2", "greedy:3"},
		"softmax_reuse":    {"greedy:1", "greedy:2", "greedy:3"},
		"missing_syncwarp": allOrders,
		"uninitialised":    allOrders,
		"static_shared":    allOrders,
	} {
		for _, order := range orders {
			if out, _ := runEmulated(t, order, zoo, name, "buggy"); out == fixed[name] {
				t.Errorf("%s, %s: the bug does not show", name, order)
			}
		}
	}
}

// What AddressSanitizer and UBSan must say, with the line, and nothing about the fixed twin.
func TestEmulatorZooAddressSanitizer(t *testing.T) {
	t.Parallel()
	e := newEmulated(t, "g++", "-O1", "-fsanitize=address,undefined")
	zoo := e.build(t, "zoo.cu")
	for name, text := range map[string]string{
		"missing_if":     "AddressSanitizer: heap-buffer-overflow",
		"read_past_end":  "AddressSanitizer: heap-buffer-overflow",
		"static_shared":  "AddressSanitizer: use-after-poison",
		"dynamic_shared": "AddressSanitizer",
		"local_array":    "AddressSanitizer: stack-buffer-overflow",
		"misaligned":     "misaligned address",
		"tile_row":       "index 8 out of bounds",
		"leak":           "LeakSanitizer",
	} {
		out, _ := runEmulated(t, "forward", zoo, name, "buggy")
		if !strings.Contains(out, text) {
			t.Errorf("%s: want %q in\n%s", name, text, out)
		}
		if name != "leak" && !strings.Contains(out, fmt.Sprintf("zoo.cu:%d", bugLine(t, "zoo.cu", name))) {
			t.Errorf("%s: the line is not named in\n%s", name, out)
		}
	}
	for _, name := range []string{"missing_if", "read_past_end", "static_shared", "dynamic_shared", "local_array", "misaligned", "tile_row", "leak", "tree", "softmax_reuse"} {
		if out, status := runEmulated(t, "greedy:1", zoo, name, "fixed"); status != 0 || strings.Count(out, "\n") != 1 {
			t.Errorf("%s fixed: status %d, output\n%s", name, status, out)
		}
	}
	smallMatrix(t, e)
}

func TestEmulatorZooThreadSanitizer(t *testing.T) {
	t.Parallel()
	e := newEmulated(t, "g++", "-O1", "-fsanitize=thread")
	zoo := e.build(t, "zoo.cu")
	for _, name := range []string{"tree", "softmax_reuse", "plain_add", "missing_syncwarp"} {
		out, status := runEmulated(t, "forward", zoo, name, "buggy")
		if status == 0 || !strings.Contains(out, "ThreadSanitizer: data race") || !strings.Contains(out, fmt.Sprintf("zoo.cu:%d", bugLine(t, "zoo.cu", name))) {
			t.Errorf("%s: status %d, want a data race with its line in\n%s", name, status, out)
		}
		if out, status := runEmulated(t, "forward", zoo, name, "fixed"); status != 0 || strings.Count(out, "\n") != 1 {
			t.Errorf("%s fixed: status %d, output\n%s", name, status, out)
		}
	}
	smallMatrix(t, e)
}

func smallMatrix(t *testing.T, e *emulated) {
	t.Helper()
	if out, status := runEmulated(t, "forward", e.build(t, "warp.cu"), "small"); status != 0 || !strings.HasPrefix(out, "ok ") {
		t.Errorf("warp matrix: status %d\n%s", status, out)
	}
}

// The warp-function matrix under compilers, optimisation levels and orders.
func TestEmulatorWarpMatrix(t *testing.T) {
	t.Parallel()
	for _, way := range []struct {
		compiler string
		flags    []string
		orders   []string
	}{
		{"g++", []string{"-O2"}, allOrders},
		{"g++", []string{"-O0"}, []string{"greedy:1"}},
		{"g++", []string{"-O3", "-flto"}, []string{"forward", "greedy:2"}},
		{"g++", []string{"-O1", "-DCUEMU_UCONTEXT"}, []string{"greedy:3"}},
		{"clang++", []string{"-O2"}, allOrders},
	} {
		t.Run(way.compiler+strings.Join(way.flags, ""), func(t *testing.T) {
			program := newEmulated(t, way.compiler, way.flags...).build(t, "warp.cu")
			counts := map[string]bool{}
			for _, order := range way.orders {
				out, status := runEmulated(t, order, program)
				if status != 0 || !strings.HasPrefix(out, "ok ") {
					t.Errorf("order %s: status %d\n%s", order, status, out)
				}
				counts[out] = true
			}
			if len(counts) != 1 {
				t.Errorf("the number of checks depends on the order: %v", counts)
			}
		})
	}
}

// The host interface, driven by a C++ host that opens both libraries: reports, canaries, the watchdog, and handlers that stay untouched.
func TestEmulatorHost(t *testing.T) {
	t.Parallel()
	e := newEmulated(t, "g++", "-O1")
	kernels := e.build(t, "faults.cu", "-shared", "-fPIC")
	host := filepath.Join(e.folder, "host")
	if err := e.compile("-Wall", "-Wextra", "-Werror", "-I", emulatorFolder, filepath.Join(emulatorTests, "host.cc"), "-o", host, "-ldl"); err != nil {
		t.Fatal(err)
	}
	library, err := e.library()
	if err != nil {
		t.Fatal(err)
	}
	out, status := runEmulated(t, "forward", host, library, kernels)
	if status != 0 {
		t.Fatalf("status %d\n%s", status, out)
	}
	for _, want := range []string{
		"order forward 0", "order random:7 0", "order random -1", "order random:x -1", "order forward:1 -1", "order sideways -1", "order greedy:3 0",
		"misalign 4 4", "misalign 12 12",
		"right kind=0 code=0 .* changed=0 .* twos=999 ",
		"read kind=1 code=0 kernel=copy place=1 block=\\d+ thread=\\d+ access=1 buffer=x distance=\\d+ changed=0",
		"before kind=1 .* access=1 buffer=x distance=-\\d+ changed=0",
		"slack kind=1 .* kernel=store place=1 block=0 thread=77 access=2 buffer=y distance=0 .*0 bytes past the end of buffer y of 3996 bytes",
		"front kind=0 .* changed=4 before=5 after=0",
		"host kind=1 .* place=0 .* the launch function's own code: invalid write",
		"threads kind=5 code=9 .*invalid configuration argument",
		"shared kind=5 code=1 .*invalid argument",
		"throw kind=5 .*threw a C\\+\\+ exception",
		"overrun kind=1 code=0 kernel=overrun place=2 .*wrote past the end of a __shared__ declaration of 100 bytes",
		"recurse kind=1 .*stack overflow: a thread has 65536 bytes",
		"spin kind=4 code=0 kernel=spin place=1 block=3 thread=0",
		"own faults handled",
	} {
		if !regexp.MustCompile("(?m)^" + want).MatchString(out) {
			t.Errorf("no line %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "left its handler") {
		t.Errorf("a handler was left in place:\n%s", out)
	}
	for _, bug := range []struct{ report, line string }{{"read", "read"}, {"slack", "store"}, {"spin", "spin"}, {"host", "host"}} {
		m := regexp.MustCompile("(?m)^" + bug.report + " .* pc=(\\S+):([0-9a-f]+) ").FindStringSubmatch(out)
		if m == nil {
			t.Errorf("%s: no pc in\n%s", bug.report, out)
			continue
		}
		line, _, _ := strings.Cut(strings.TrimPrefix(addressLine(t, m[1], "0x"+m[2]), filepath.Dir(emulatorTests)), " ")
		want := bugLine(t, "faults.cu", bug.line)
		if got, _ := strconv.Atoi(line[strings.LastIndexByte(line, ':')+1:]); got < want || got > want+1 {
			t.Errorf("%s: the fault is at %s, want line %d", bug.report, line, want)
		}
	}
}

// formatTables is the hash of all result tables; the same with any compiler. The conversions agreed with CUDA 13's own headers on the host when
// it was made: 12.6 million floats spread over all exponents, and every code.
const formatTables = "1d8455c19c93ba6e"

// The number formats against Go's codecs, which round by other means: conversions of 655,360 floats, all codes decoded, 20,000 fused products.
func TestEmulatorNumberFormats(t *testing.T) {
	t.Parallel()
	out, status := runEmulated(t, "forward", newEmulated(t, "g++", "-O2").build(t, "formats.cu"))
	if status != 0 {
		t.Fatalf("status %d", status)
	}
	hash := fnv.New64a()
	hash.Write([]byte(out))
	if got := fmt.Sprintf("%016x", hash.Sum64()); got != formatTables {
		t.Errorf("hash of the tables is %s, want %s", got, formatTables)
	}
	rest := checkEncoding(t, []byte(out))
	rest = checkDecoding(t, rest)
	checkFused(t, rest)
}

func checkEncoding(t *testing.T, table []byte) []byte {
	low := []uint32{0x0000, 0x0001, 0x0fff, 0x1000, 0x1001, 0x3000, 0x7fff, 0x8000, 0x8001, 0xffff}
	var values []float64
	for high := range uint32(65536) {
		for _, bits := range low {
			values = append(values, float64(math.Float32frombits(high<<16|bits)))
		}
	}
	column := func(d op.DType, at int, saturate bool) {
		size, wrong := len(tensor.Encode(d, []float64{0})), 0
		for i, x := range values {
			want := tensor.Encode(d, []float64{tensor.Round(d, x, saturate)})
			got := table[i*8+at:][:size]
			if x != x {
				if y := tensor.Decode(d, got)[0]; y == y {
					t.Fatalf("%v: NaN encodes to %x", d, got)
				}
			} else if !bytes.Equal(got, want) {
				if saturate && math.IsInf(x, 0) && tensor.Decode(d, got)[0] == math.Copysign(tensor.Round(d, 1e9, true), x) {
					continue // CUDA's saturation takes infinities along
				}
				if wrong++; wrong < 4 {
					t.Errorf("%v, saturate %v: %v encodes to %x, want %x", d, saturate, x, got, want)
				}
			}
		}
	}
	column(op.FP16, 0, false)
	column(op.BF16, 2, false)
	column(op.E4M3, 4, false)
	column(op.E5M2, 5, false)
	column(op.E4M3, 6, true)
	column(op.E5M2, 7, true)
	return table[len(values)*8:]
}

func checkDecoding(t *testing.T, table []byte) []byte {
	for _, part := range []struct {
		codes  int
		dtypes [2]op.DType
	}{{65536, [2]op.DType{op.FP16, op.BF16}}, {256, [2]op.DType{op.E4M3, op.E5M2}}} {
		for code := range part.codes {
			for _, d := range part.dtypes {
				got := float64(math.Float32frombits(binary.LittleEndian.Uint32(table)))
				table = table[4:]
				b := binary.LittleEndian.AppendUint16(nil, uint16(code))
				want := tensor.Decode(d, b[:len(tensor.Encode(d, []float64{0}))])[0]
				if !(got == want && math.Signbit(got) == math.Signbit(want) || got != got && want != want) {
					t.Fatalf("%v: code %#x decodes to %v, want %v", d, code, got, want)
				}
			}
		}
	}
	return table
}

// checkFused computes a*b+c exactly, rounds to odd in 53 bits and then once to the format.
func checkFused(t *testing.T, table []byte) {
	state := uint64(1)
	draw := func() []byte {
		state = state*6364136223846793005 + 1442695040888963407
		return binary.LittleEndian.AppendUint16(nil, uint16(state>>48))
	}
	compared := 0
	for range 20000 {
		a, b, c := draw(), draw(), draw()
		for i, d := range []op.DType{op.FP16, op.BF16} {
			x, y, z := tensor.Decode(d, a)[0], tensor.Decode(d, b)[0], tensor.Decode(d, c)[0]
			want, ok := exactFused(x, y, z)
			if !ok {
				continue
			}
			compared++
			if code := tensor.Encode(d, []float64{want}); !bytes.Equal(code, table[2*i:][:2]) {
				t.Fatalf("%v: fma(%v, %v, %v) gives %x, want %x", d, x, y, z, table[2*i:][:2], code)
			}
		}
		table = table[4:]
	}
	if compared < 20000 {
		t.Errorf("only %d fused products were compared", compared)
	}
	for i, want := range []float64{258, 1 + 0x1p-7, 1 + 0x1p-10} {
		d := []op.DType{op.BF16, op.BF16, op.FP16}[i]
		if got := tensor.Decode(d, table[:2])[0]; got != want {
			t.Errorf("rounding once, case %d: %v, want %v", i, got, want)
		}
		table = table[2:]
	}
	if len(table) != 0 {
		t.Errorf("%d bytes too many", len(table))
	}
}

func exactFused(x, y, z float64) (float64, bool) {
	if x-x != 0 || y-y != 0 || z-z != 0 {
		return 0, false
	}
	exact := func(v float64) *big.Float { return new(big.Float).SetPrec(2000).SetFloat64(v) }
	sum := exact(x)
	sum.Mul(sum, exact(y)).Add(sum, exact(z))
	if sum.Sign() == 0 {
		return 0, false // the sign of a zero is another rule
	}
	cut := new(big.Float).SetPrec(53).SetMode(big.ToZero).Set(sum)
	v, _ := cut.Float64()
	if cut.Cmp(sum) != 0 {
		v = math.Float64frombits(math.Float64bits(v) | 1)
	}
	return v, true
}

// BenchmarkEmulator gives what a barrier and a shuffle cost the emulator in processor time, at 256 threads a block. The budgets are 15 ns a
// thread and 20 ns a lane; no figure says anything about a GPU.
func BenchmarkEmulator(b *testing.B) {
	program := newEmulated(b, "g++", "-O2").build(b, "cost.cu")
	var out string
	for b.Loop() {
		out, _ = runEmulated(b, "forward", program)
	}
	m := regexp.MustCompile(`block +256: barrier ([0-9.]+) ns per thread, shuffle ([0-9.]+) ns per lane`).FindStringSubmatch(out)
	if m == nil {
		b.Fatalf("no figures in\n%s", out)
	}
	for i, unit := range []string{"ns/barrier-thread", "ns/shuffle-lane"} {
		v, _ := strconv.ParseFloat(m[i+1], 64)
		b.ReportMetric(v, unit)
	}
	b.Log("\n" + out)
}
