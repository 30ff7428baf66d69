package cuda

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"triad/internal/need"
)

// zooReports lists what each bug of the zoo must end in without a sanitizer: a report that contains a text,
// or an output that differs from the fixed twin's in one of the orders. line: the report, or the fault's
// address, names the line.
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
				text, _, _ = strings.Cut(text, ", block") // another order may reach another thread first
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

// zooRacesShow checks that a race or an uninitialised read shows as bits that depend on the order, or as NaN;
// the fixed twin gives the same bits in all. The fast tier runs each in one order.
func zooRacesShow(t *testing.T, zoo string) {
	fixed := map[string]string{}
	for _, name := range []string{
		"tree", "softmax_reuse", "missing_syncwarp", "uninitialised", "static_shared", "tile_row",
		"plain_add", "missing_if",
		"dynamic_shared", "divergent_barrier", "divergent_mask", "deadlock", "too_much_shared",
	} {
		for _, order := range ordersOf(t, name+" fixed", allOrders) {
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
		for _, order := range ordersOf(t, name+" buggy", orders) {
			if out, _ := runEmulated(t, order, zoo, name, "buggy"); out == fixed[name] {
				t.Errorf("%s, %s: the bug does not show", name, order)
			}
		}
	}
}

// What AddressSanitizer and UBSan must report, with the line, and that they report nothing about the fixed
// twin. This needs a special emulator, so the fast tier leaves it to the programs of internal/check.
func TestEmulatorZooAddressSanitizer(t *testing.T) {
	need.Covers(t, "", slices.Concat(need.Emulator, testPrograms)...)
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
	for _, name := range []string{
		"missing_if", "read_past_end", "static_shared", "dynamic_shared",
		"local_array", "misaligned", "tile_row", "leak", "tree", "softmax_reuse",
	} {
		if out, status := runEmulated(t, "greedy:1", zoo, name, "fixed"); status != 0 ||
			strings.Count(out, "\n") != 1 {
			t.Errorf("%s fixed: status %d, output\n%s", name, status, out)
		}
	}
	smallMatrix(t, e)
}

func TestEmulatorZooThreadSanitizer(t *testing.T) {
	need.Covers(t, "", slices.Concat(need.Emulator, testPrograms)...)
	t.Parallel()
	e := newEmulated(t, "g++", "-O1", "-fsanitize=thread")
	zoo := e.build(t, "zoo.cu")
	for _, name := range []string{"tree", "softmax_reuse", "plain_add", "missing_syncwarp"} {
		out, status := runEmulated(t, "forward", zoo, name, "buggy")
		if status == 0 || !strings.Contains(out, "ThreadSanitizer: data race") ||
			!strings.Contains(out, fmt.Sprintf("zoo.cu:%d", bugLine(t, "zoo.cu", name))) {
			t.Errorf("%s: status %d, want a data race with its line in\n%s", name, status, out)
		}
		if out, status := runEmulated(t, "forward", zoo, name, "fixed"); status != 0 ||
			strings.Count(out, "\n") != 1 {
			t.Errorf("%s fixed: status %d, output\n%s", name, status, out)
		}
	}
	smallMatrix(t, e)
}

func smallMatrix(t *testing.T, e *emulated) {
	t.Helper()
	if out, status := runEmulated(t, "forward", e.build(t, "warp.cu"), "small"); status != 0 ||
		!strings.HasPrefix(out, "ok ") {
		t.Errorf("warp matrix: status %d\n%s", status, out)
	}
}

// The warp-function matrix under optimisation levels and orders. The fast tier has -O2, whose emulator other
// tests need too, in one order with regular turns and one without.
func TestEmulatorWarpMatrix(t *testing.T) {
	t.Parallel()
	for _, way := range []struct {
		key    string
		flags  []string
		orders []string
	}{
		{"warp functions", []string{"-O2"}, allOrders},
		{"", []string{"-O0"}, []string{"greedy:1"}},
		{"", []string{"-O1", "-DCUEMU_UCONTEXT"}, []string{"greedy:3"}},
		{"", []string{"-O3", "-flto"}, []string{"forward", "greedy:2"}},
	} {
		t.Run(strings.Join(way.flags, ""), func(t *testing.T) {
			need.Covers(t, way.key, slices.Concat(need.Emulator, testPrograms)...)
			program := newEmulated(t, "g++", way.flags...).build(t, "warp.cu")
			counts := map[string]bool{}
			for _, order := range way.orders {
				kind, _, greedy := strings.Cut(order, ":")
				if !greedy {
					kind = "in turn"
				}
				if !need.Chosen(t, order, t.Name()+" "+kind, slices.Concat(need.Emulator, testPrograms)...) {
					continue
				}
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

// Every version of clang++ compiles the emulator without a warning; under it warp functions return the right
// results, and the bugs of the zoo end as under g++. The fast tier has no second compiler.
func TestEmulatorUnderClang(t *testing.T) {
	t.Parallel()
	for _, version := range need.ClangVersions {
		t.Run(strconv.Itoa(version), func(t *testing.T) {
			need.Covers(t, "", slices.Concat(need.Emulator, testPrograms)...)
			e := newEmulated(t, need.ClangOf(t, version), "-O2")
			program := e.build(t, "warp.cu")
			for _, order := range allOrders {
				out, status := runEmulated(t, order, program)
				if status != 0 || !strings.HasPrefix(out, "ok ") {
					t.Errorf("warp functions in order %s: status %d\n%s", order, status, out)
				}
			}
			zooReportsAreMade(t, e.build(t, "zoo.cu"))
		})
	}
}

// hostLines lists regular expressions for the lines that host.cc prints.
var hostLines = []string{
	"order forward 0", "order random:7 0", "order random -1", "order random:x -1", "order forward:1 -1",
	"order sideways -1", "order greedy:3 0",
	"misalign 4 4", "misalign 12 12",
	"right kind=0 code=0 .* changed=0 .* twos=999 ",
	"read kind=1 code=0 kernel=copy place=1 block=\\d+ thread=\\d+ access=1 buffer=x distance=\\d+ " +
		"changed=0",
	"before kind=1 .* access=1 buffer=x distance=-\\d+ changed=0",
	"slack kind=1 .* kernel=store place=1 block=0 thread=77 access=2 buffer=y distance=0 .*0 bytes " +
		"past the end of buffer y of 3996 bytes",
	"front kind=0 .* changed=4 before=5 after=0",
	"host kind=1 .* place=0 .* the launch function's own code: invalid write",
	"threads kind=5 code=9 .*invalid configuration argument",
	"shared kind=5 code=1 .*invalid argument",
	"throw kind=5 .*threw a C\\+\\+ exception",
	"overrun kind=1 code=0 kernel=overrun place=2 .*wrote past the end of a __shared__ declaration of " +
		"100 bytes",
	"recurse kind=1 .*stack overflow: a thread has 65536 bytes",
	"spin kind=4 code=0 kernel=spin place=1 block=3 thread=0",
	"starved kind=0 code=0 ", // a busy machine is no hang
	"asleep kind=4 ",
	"polling kind=4 ", // it computes a little between polls
	"own faults handled",
}

// The host interface, driven by a C++ host that opens both libraries: reports, canaries, the watchdog, and
// signal handlers that stay untouched.
func TestEmulatorHost(t *testing.T) {
	t.Parallel()
	e := newEmulated(t, "g++", "-O1")
	kernels := e.build(t, "faults.cu", "-shared", "-fPIC")
	host := filepath.Join(e.folder, "host")
	if err := e.compile("-Wall", "-Wextra", "-Werror", "-I", emulatorFolder,
		filepath.Join(emulatorTests, "host.cc"), "-o", host, "-ldl"); err != nil {
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
	for _, want := range hostLines {
		if !regexp.MustCompile("(?m)^" + want).MatchString(out) {
			t.Errorf("no line %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "left its handler") {
		t.Errorf("a handler was left in place:\n%s", out)
	}
	for _, bug := range []struct{ report, line string }{
		{"read", "read"},
		{"slack", "store"},
		{"spin", "spin"},
		{"host", "host"},
	} {
		m := regexp.MustCompile("(?m)^" + bug.report + " .* pc=(\\S+):([0-9a-f]+) ").FindStringSubmatch(out)
		if m == nil {
			t.Errorf("%s: no pc in\n%s", bug.report, out)
			continue
		}
		line, _, _ := strings.Cut(strings.TrimPrefix(addressLine(t, m[1], "0x"+m[2]),
			filepath.Dir(emulatorTests)), " ")
		want := bugLine(t, "faults.cu", bug.line)
		if got, _ := strconv.Atoi(line[strings.LastIndexByte(line, ':')+1:]); got < want || got > want+1 {
			t.Errorf("%s: the fault is at %s, want line %d", bug.report, line, want)
		}
	}
}

// BenchmarkEmulator measures the processor time of a barrier and a shuffle at 256 threads a block, and of an
// ordinary softmax of 4096 x 1024. The budgets are 15 ns a thread, 20 ns a lane and 0.4 s; no figure says
// anything about a GPU.
func BenchmarkEmulator(b *testing.B) {
	program := newEmulated(b, "g++", "-O2").build(b, "cost.cu")
	var out string
	for b.Loop() {
		out, _ = runEmulated(b, "forward", program)
	}
	m := regexp.MustCompile(`block +256: barrier ([0-9.]+) ns per thread, shuffle ([0-9.]+) ns per lane` +
		`(?s:.*)softmax 4096 x 1024: ([0-9.]+) s`).FindStringSubmatch(out)
	if m == nil {
		b.Fatalf("no figures in\n%s", out)
	}
	for i, unit := range []string{"ns/barrier-thread", "ns/shuffle-lane", "s/softmax"} {
		v, _ := strconv.ParseFloat(m[i+1], 64)
		b.ReportMetric(v, unit)
	}
	b.Log("\n" + out)
}
