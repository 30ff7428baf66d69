package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
)

// inUTF16 encodes a text as some editors of Windows save it.
func inUTF16(text string) string {
	out := []byte{0xff, 0xfe}
	for _, c := range utf16.Encode([]rune(text)) {
		out = append(out, byte(c), byte(c>>8))
	}
	return string(out)
}

var refusedPrograms = map[string]badInput{
	"utf-16": {inUTF16(with("")), "program.cu: it is text in UTF-16", 2, nil},
	"includes itself": {
		"#include \"program.cu\"\n" + with(""), "program.cu:1: #include nested", 2, nil,
	},
	"a kernel as a function": {
		with("twice(x, 64);"), "program.cu:16: the kernel twice is called like a function", 2, nil,
	},
	"a kernel with a result": {
		"__global__ int k() { return 1; }\nint main() { k<<<1, 1>>>(); }\n",
		"program.cu:1: the kernel k gives back int", 2, nil,
	},
	"one number in a launch": {
		with("twice<<<1>>>(x, 64);"), "program.cu:16: a launch wants blocks and threads", 2, nil,
	},
	"a variable of the host": {
		"int n = 3;\n__global__ void k(int *x) { x[0] = n; }\nint main() { k<<<1, 1>>>(nullptr); }\n",
		"program.cu:2: n is a variable of the host, and the kernel k uses it", 2, nil,
	},
	"shared memory with values": {
		"__global__ void k() { __shared__ int s[2] = {1, 2}; }\nint main() { k<<<1, 1>>>(); }\n",
		"program.cu:1: shared memory cannot have values where it is declared", 2, nil,
	},
	"output without the end of its line": {
		with(`printf("no end");`), "no end\nNothing was found", 0, nil,
	},
	"an array of a size that varies": {
		"__global__ void k(int *x, int n) {\nint a[n];\na[0] = n; x[0] = a[0]; }\n" +
			"int main() { int *x; cudaMalloc(&x, 4); k<<<1, 1>>>(x, 3); cudaFree(x); }\n",
		"program.cu:2: the size of an array in k is no constant", 2, nil,
	},
	"an array of the host of a size that varies": {
		"__global__ void k(int *x) { x[0] = 1; }\n" +
			"int main(int n, char **) { int a[n]; int *x; cudaMalloc(&x, 4); k<<<1, 1>>>(x);\n" +
			"cudaMemcpy(a, x, 4, cudaMemcpyDeviceToHost); cudaFree(x); return a[0] - 1; }\n",
		"Nothing was found", 0, nil,
	},
	"no name of a macro": {with(""), `-D "1x=3": want NAME or NAME=VALUE`, 2, []string{"-D", "1x=3"}},
	"a macro with parameters": {
		with("if (SUM(1, 2) != 3) return 1;"), "Nothing was found", 0, []string{"-D", "SUM(a,b)=a+b"},
	},
	"an exception that nobody catches": {
		with("throw 3;"), "the program says that it failed: it ended itself (abort)", 1, nil,
	},
	"a volatile flag behind fences": {
		"__global__ void k(int *x) {\n__shared__ int place;\n__shared__ volatile int full;\n" +
			"if (threadIdx.x == 0) full = 0;\n__syncthreads();\n" +
			"if (threadIdx.x == 0) { place = 3; __threadfence_block(); full = 1; }\n" +
			"if (threadIdx.x == 32) { while (!full) {}\n__threadfence_block(); x[0] = place; } }\n" +
			"int main() { int *x; cudaMalloc(&x, 4); k<<<1, 64>>>(x); cudaFree(x); }\n",
		"Nothing was found", 0, nil,
	},
	"a recursion without an end": {
		"__device__ int f(int i) { volatile int a[50]; a[0] = i; return f(i + 1) + a[0]; }\n" +
			"__global__ void k(int *x) { x[0] = f(1); }\n" +
			"int main() { int *x; cudaMalloc(&x, 4); k<<<1, 1>>>(x); cudaFree(x); }\n",
		"a thread's stack is full", 1, nil,
	},
}

// TestCheckRefuses: what nvcc would reject is rejected with its line, and other odd files get one clear
// sentence.
func TestCheckRefuses(t *testing.T) {
	for name, c := range refusedPrograms {
		t.Run(name, func(t *testing.T) {
			text, code := runTriad(t, append([]string{"check", checkFile(t, c.text)}, c.flags...)...)
			if code != c.code || !strings.Contains(text, c.says) {
				t.Errorf("exit %d, want %d and %q in\n%.3000s", code, c.code, c.says, text)
			}
		})
	}
	loop := filepath.Join(t.TempDir(), "loop.cu")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{loop, filepath.Join(checkFile(t, with("")), "below.cu")} {
		text, code := runTriad(t, "check", name)
		if code != 2 || !strings.HasPrefix(text, "triad: check: "+name+": ") {
			t.Errorf("%s: exit %d, want 2 and the system's reason in\n%s", name, code, text)
		}
	}
}

// TestCheckStops: the first interrupt ends a check, which has nothing to finish.
func TestCheckStops(t *testing.T) {
	self, err := exec.LookPath("triad")
	if err != nil {
		t.Fatal(err)
	}
	started := filepath.Join(t.TempDir(), "started")
	file := checkFile(t, "#include <unistd.h>\n"+with("fclose(fopen(argv[1], \"w\")); for (;;) pause();"))
	cmd := exec.Command(self, "check", "--limit", "run=10m", file, "--", started)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	for _, err := os.Stat(started); err != nil; _, err = os.Stat(started) {
		time.Sleep(10 * time.Millisecond)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 3 ||
		!strings.Contains(out.String(), "stopped: nothing is known of the program") {
		t.Errorf("%v, want exit 3 and a sentence in\n%s", err, out.String())
	}
}
