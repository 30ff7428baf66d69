package check

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// linesOfProgram resolves the addresses of a program: address 16 n is line n of a.cu.
func linesOfProgram(_ context.Context, offsets []uint64) (map[uint64]Place, error) {
	places := map[uint64]Place{}
	for _, at := range offsets {
		places[at] = Place{File: "a.cu", Line: int(at / 16)}
	}
	return places, nil
}

// sanitizerTexts holds reports as the runtimes of g++ 12 and of clang++ 19 write them, the emulator's records
// for them, and the expected findings.
var sanitizerTexts = map[string]struct {
	report, beside string
	want           []Finding
}{
	"after a heap block, clang++": {
		"==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x611000000140 at " +
			"pc 0x1 bp 0x2 sp 0x3\n" +
			"READ of size 4 at 0x611000000140 thread T0\n@0|/p/program|0x50\n@1|/lib/libc.so.6|0x60\n\n" +
			"0x611000000140 is located 0 bytes after 256-byte region [0x611000000040,0x611000000140)\n" +
			"allocated by thread T0 here:\n@0|/lib/libasan.so|0x10\n@1|/p/program|0x20\n",
		`{"kind":"where"}`,
		[]Finding{{
			Kind: HostOutOfBounds, Sanitizer: "address", Check: "heap-buffer-overflow",
			Access: "read", Bytes: 4,
			Memory: "host memory", MemoryBytes: 256, Byte: 256, Place: &Place{File: "a.cu", Line: 5},
			Allocated: &Place{File: "a.cu", Line: 2},
		}},
	},
	"before a heap block of cudaMalloc, in a kernel": {
		"==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x61100000003c at " +
			"pc 0x1 bp 0x2 sp 0x3\n" +
			"WRITE of size 4 at 0x61100000003c thread T0\n@0|/p/program|0x50\n\n" +
			"0x61100000003c is located 4 bytes to the left of 256-byte region " +
			"[0x611000000040,0x611000000140)\n" +
			"allocated by thread T0 " +
			"here:\n@0|/lib/libasan.so|0x10\n@1|/c/libemulator.so|0x20\n@2|/p/program|0x30\n",
		`{"kind":"where","kernel":"k","block":[1,0,0],"thread":[2,0,0],"block_dim":[8,1,1]}`,
		[]Finding{{
			Kind: OutOfBounds, Sanitizer: "address", Check: "heap-buffer-overflow", Access: "write", Bytes: 4,
			Memory: "device memory", MemoryBytes: 256, Byte: -4, Place: &Place{File: "a.cu", Line: 5},
			Allocated: &Place{File: "a.cu", Line: 3}, Kernel: "k", Block: &[3]int{1, 0, 0},
			Thread: &[3]int{2, 0, 0},
		}},
	},
	"behind a global variable": {
		"==7==ERROR: AddressSanitizer: global-buffer-overflow on address 0x48 at pc 0x1 bp 0x2 sp 0x3\n" +
			"READ of size 4 at 0x48 thread T0\n@0|/p/program|0x50\n\n" +
			"0x48 is located 8 bytes after global variable 'table' defined in 'a.cu' (0x30) of size 16\n",
		`{"kind":"where"}`,
		[]Finding{{
			Kind: HostOutOfBounds, Sanitizer: "address", Check: "global-buffer-overflow",
			Access: "read", Bytes: 4,
			Memory: "the variable table", MemoryBytes: 16, Byte: 24, Place: &Place{File: "a.cu", Line: 5},
		}},
	},
	"null": {
		"==7==ERROR: AddressSanitizer: SEGV on unknown address 0x000000000004 (pc 0x1 bp 0x2 sp 0x3 T0)\n" +
			"==7==The signal is caused by a READ memory access.\n@0|/p/program|0x50\n",
		`{"kind":"where"}`,
		[]Finding{{
			Kind: HostNullPointer, Sanitizer: "address", Check: "SEGV", Place: &Place{File: "a.cu", Line: 5},
		}},
	},
	"freed twice": {
		"==7==ERROR: AddressSanitizer: attempting double-free on 0x602000000010 in thread T0:\n" +
			"@0|/lib/libasan.so|0x10\n@1|/p/program|0x50\n\n0x602000000010 is located 0 bytes " +
			"inside of 4-byte " +
			"region [0x602000000010,0x602000000014)\nfreed by thread T0 here:\n@0|/lib/libasan.so|0x10\n" +
			"@1|/p/program|0x40\n\npreviously allocated by thread T0 here:\n@1|/p/program|0x30\n",
		`{"kind":"where"}`,
		[]Finding{{
			Kind: HostBadFree, Sanitizer: "address", Check: "double-free",
			Place: &Place{File: "a.cu", Line: 5},
			Freed: &Place{File: "a.cu", Line: 4}, Allocated: &Place{File: "a.cu", Line: 3},
			Message: "attempting double-free on 0x602000000010 in thread T0:",
		}},
	},
	"leaks, of which one is inside another": {
		"==7==ERROR: LeakSanitizer: detected memory leaks\n\nIndirect leak of 9 byte(s) in " +
			"1 object(s) allocated " +
			"from:\n@0|/p/program|0x40\n\nDirect leak of 384 byte(s) in 3 object(s) allocated from:\n" +
			"@0|/lib/libasan.so|0x10\n@1|/p/program|0x30\n",
		"",
		[]Finding{{
			Kind: HostLeak, Sanitizer: "address", Check: "leak", Place: &Place{File: "a.cu", Line: 3},
			Message: "384 bytes, asked for 3 times",
		}},
	},
	"race of a kernel's threads": {
		"WARNING: ThreadSanitizer: data race (pid=7)\n  Atomic write of size 4 at 0x7b by thread T4:\n" +
			"@0|/p/program|0x50\n\n  Previous read of size 4 at 0x7b by thread T3 (mutexes: write M1):\n" +
			"@0|/p/program|0x40\n\n  Thread T4 'cuda thread 1' (tid=0, running) created by " +
			"main thread at:\n" +
			"@0|/p/program|0x10\n\n  Thread T3 'cuda thread 9' (tid=0, running) created by " +
			"main thread at:\n" +
			"@0|/p/program|0x10\n\nSUMMARY: ThreadSanitizer: data race (/p/program+0x50)\n",
		`{"kind":"where","block":[0,0,0],"thread":[1,0,0],"block_dim":[4,4,1],"cluster":2}`,
		[]Finding{{
			Kind: Race, Sanitizer: "thread", Check: "data race", Block: &[3]int{},
			Thread: &[3]int{1, 0, 0}, OtherThread: &[3]int{1, 2, 0}, Access: "write", Bytes: 4,
			OtherAccess: "read", Place: &Place{File: "a.cu", Line: 5}, Other: &Place{File: "a.cu", Line: 4},
		}},
	},
	"race of a kernel's threads that the emulator watches": {
		"WARNING: ThreadSanitizer: data race (pid=7)\n  Write of size 4 at 0x7b by thread T4:\n" +
			"@0|/p/program|0x50\n\n  Previous write of size 4 at 0x7b by thread T3:\n@0|/p/program|0x40\n\n" +
			"  Thread T3 'cuda thread 9' (tid=0, running) created by main thread at:\n@0|/p/program|0x10\n",
		`{"kind":"where","kernel":"k","block":[0,0,0],"thread":[1,0,0],"block_dim":[4,4,1],"cluster":1}`,
		nil,
	},
	"undefined, in a header and in the program": {
		"",
		`{"kind":"undefined","check":"signed-integer-overflow","message":"Signed integer overflow: 2 * 3",` +
			`"stack":" 80 64","place":{"file":"a.cu","line":6}}` + "\n" +
			`{"kind":"undefined","check":"null-pointer-use","message":"Load of null","stack":" 80 64",` +
			`"place":{"file":"/usr/include/vector","line":6}}` + "\n" + `{"kind":"undef`,
		[]Finding{
			{
				Kind: SignedOverflow, Sanitizer: "undefined", Check: "signed-integer-overflow",
				Message: "2 * 3",
				Place:   &Place{File: "a.cu", Line: 6},
			},
			{
				Kind: HostNullPointer, Sanitizer: "undefined", Check: "null-pointer-use",
				Message: "load of null (at /usr/include/vector:6)", Place: &Place{File: "a.cu", Line: 5},
			},
		},
	},
}

// TestSanitizerTexts: each report becomes one finding, with the lines of the program.
func TestSanitizerTexts(t *testing.T) {
	for name, c := range sanitizerTexts {
		t.Run(name, func(t *testing.T) {
			reports, err := readReports(strings.NewReader(c.report))
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "where")
			if err := os.WriteFile(file, []byte(c.beside), 0o600); err != nil {
				t.Fatal(err)
			}
			undefined, err := readEmulatorRecords(file, reports)
			if err != nil {
				t.Fatal(err)
			}
			s := Sanitized{Name: "address", Program: "/p/program", Locate: linesOfProgram}
			found, err := s.findings(context.Background(), undefined, reports)
			if err != nil || !reflect.DeepEqual(found, c.want) {
				t.Errorf("%v\nfound %+v\nwant  %+v", err, found, c.want)
			}
		})
	}
}

// At a line where the emulator found something, a sanitizer's finding is dropped, except for a crash in host
// code or an overflow, which the emulator does not check.
func TestSanitizerBesideTheEmulator(t *testing.T) {
	at := func(line int) *Place { return &Place{File: "a.cu", Line: line} }
	r := Report{Findings: []Finding{
		{Kind: OutOfBounds, Place: at(3)},
		{Kind: HostCrash, Place: at(5)},
		{Kind: Race, Place: at(7), Other: at(8)},
	}}
	r.addSanitized([]Finding{
		{Kind: OutOfBounds, Place: at(3), Sanitizer: "address"},
		{Kind: Race, Place: at(8), Sanitizer: "thread"},
		{Kind: HostNullPointer, Place: at(5), Sanitizer: "address"},
		{Kind: SignedOverflow, Place: at(3), Sanitizer: "undefined"},
	}, r.Findings)
	var got []string
	for _, f := range r.Findings {
		got = append(got, strings.Join(sides(f), " and ")+" "+f.Sanitizer)
	}
	want := []string{
		"out-of-bounds at line 3 ", "race at line 7 and race at line 8 ",
		"host-null-pointer at line 5 address", "overflow at line 3 undefined",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A sanitizer that cannot run on a machine proves nothing about the program: the error says so, and what to
// do.
func TestSanitizerThatCannotRun(t *testing.T) {
	text := "FATAL: ThreadSanitizer: unexpected memory mapping 0x5581-0x5582\n"
	m := reportFailed.FindStringSubmatch(text)
	if m == nil {
		t.Fatal("it is not noticed")
	}
	said := (&SanitizerError{"thread", m[1]}).Error()
	if !strings.Contains(said, "ThreadSanitizer cannot run on this machine") ||
		!strings.Contains(said, "setarch -R triad check") {
		t.Error(said)
	}
}
