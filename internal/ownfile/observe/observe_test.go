package observe

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"triad"
	"triad/cuda/build"
	"triad/internal/need"
	"triad/internal/ownfile/observed"
	"triad/internal/sandbox"
)

const kernels = `#include <cstdio>
#include <cstdlib>
#include <vector>
template <int TILE, class T> __global__ void scale(const T *x, T *y, int n, float by) {
	int i = blockIdx.x * TILE + threadIdx.x;
	if (i < n) y[i] = x[i] * by;
}
__global__ void twice(float *x, int rows, int cols) { x[blockIdx.x * cols] *= 2; }
#define N 1000
`

// observer returns an observer with the emulator of the user's cache.
func observer(t *testing.T) Observer {
	t.Helper()
	compiler, err := build.FindHostCompiler(context.Background())
	if err != nil {
		need.Missing(t, err.Error())
	}
	box, err := sandbox.Find(context.Background())
	if err != nil {
		need.Missing(t, err.Error())
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	builder := &build.Builder{
		Sources: triad.Files, Cache: filepath.Join(cache, "triad", "cuda"), Compiler: compiler,
	}
	return Observer{builder, box}
}

// here returns a file that anyone may read outside a sandbox.
func here(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("observe.go")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// describe returns what a program did, an event a word.
func describe(run *observed.Run) string {
	var words []string
	place := func(p observed.Place) string {
		if p.Memory < 0 {
			return "host"
		}
		return fmt.Sprintf("%d+%d", p.Memory, p.Offset)
	}
	for _, e := range run.Events {
		switch {
		case e.Memory != nil:
			words = append(words, fmt.Sprintf("memory(%d)", e.Memory.Bytes))
		case e.Copy != nil:
			words = append(words, fmt.Sprintf("copy(%s,%s,%d)", place(e.Copy.To), place(e.Copy.From),
				e.Copy.Bytes))
		case e.Fill != nil:
			words = append(words, fmt.Sprintf("fill(%s,%d,%d)", place(e.Fill.To), e.Fill.Value, e.Fill.Bytes))
		case e.Launch != nil:
			word := fmt.Sprintf("%s%v%v%d(", e.Launch.Kernel, e.Launch.Grid, e.Launch.Block, e.Launch.Shared)
			for _, a := range e.Launch.Arguments {
				switch a.Kind {
				case observed.Pointer:
					word += fmt.Sprintf("%s/%d,", place(a.Place), a.Bytes)
				case observed.Whole:
					word += fmt.Sprintf("%d,", a.Whole)
				default:
					word += a.Real + ","
				}
			}
			words = append(words, word+")")
		default:
			words = append(words, fmt.Sprintf("shared(%d)", e.Shared))
		}
	}
	if same := slices.Compact(slices.Clone(words)); len(same) == 1 && len(words) > 1 {
		return fmt.Sprintf("%d times %s", len(words), same[0])
	}
	return strings.Join(words, " ")
}

// observedMains lists lines of a main(), and the record of what they do.
func observedMains(t *testing.T) map[string]struct{ main, want string } {
	t.Helper()
	return map[string]struct{ main, want string }{
		"two launches": {
			`float *x, *y, h[N]; cudaMalloc(&x, N * 4); cudaMalloc(&y, N * 4); cudaMemset(y, 0, N * 4);
			cudaMemcpy(x, h, N * 4, cudaMemcpyHostToDevice);
			const int tile = 128;
			scale<tile, float><<<(N + tile - 1) / tile, tile>>>(x, y, N, 0.5f);
			twice<<<dim3(10, 2), dim3(8, 4)>>>(y + 4, 10, 100);
			cudaMemcpy(h, y, N * 4, cudaMemcpyDeviceToHost); return 3;`,
			"memory(4000) memory(4000) fill(1+0,0,4000) copy(0+0,host,4000) " +
				"scale<128, float>[8 1 1][128 1 1]0(0+0/4,1+0/4,1000,0.5,) " +
				"twice[10 2 1][8 4 1]0(1+16/4,10,100,) copy(host,1+0,4000)",
		},
		"shared memory": {
			`cudaFuncSetAttribute(twice, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);
			twice<<<1, 32, 60000>>>(nullptr, 1, 1); abort();`,
			"shared(65536) twice[1 1 1][32 1 1]60000(host/4,1,1,)",
		},
		"arguments": {
			`if (argc < 2) return 1; twice<<<1, atoi(argv[1])>>>(nullptr, 1, 1); return 0;`,
			"twice[1 1 1][96 1 1]0(host/4,1,1,)",
		},
		"a file": {`FILE *f = fopen(argv[1], "r"); fgetc(f); twice<<<1, 1>>>(nullptr, 1, 1); return 0;`, ""},
		"endless": {
			`twice<<<1, 32>>>(nullptr, 1, 1); for (volatile int i = 0;; i = 1) {}`,
			"twice[1 1 1][32 1 1]0(host/4,1,1,)",
		},
		"waits for a kernel": {
			`for (;;) twice<<<1, 32>>>(nullptr, 1, 1);`, "400 times twice[1 1 1][32 1 1]0(host/4,1,1,)",
		},
		"prints a gigabyte": {
			`std::vector<char> text(1 << 20, 'x');
			for (int i = 0; i < 1024; i++) fwrite(text.data(), 1, text.size(), stdout);
			twice<<<1, 64>>>(nullptr, 1, 1); return 0;`,
			"twice[1 1 1][64 1 1]0(host/4,1,1,)",
		},
		"takes memory": {
			`twice<<<1, 64>>>(nullptr, 1, 1);
			for (;;) {
				char *p = (char *)malloc(1 << 26);
				for (int i = 0; p && i < 1 << 26; i += 4096) p[i] = 1;
			}`,
			"twice[1 1 1][64 1 1]0(host/4,1,1,)",
		},
		"writes and reads files": {
			`int written = fopen("` + t.TempDir() + `/written", "w") ? 2 : 1;
			int read = fopen("` + os.Args[0] + `", "r") || fopen("` + here(t) + `", "r") ? 2 : 1;
			twice<<<written, read>>>(nullptr, 1, 1); return 0;`,
			"twice[1 1 1][1 1 1]0(host/4,1,1,)",
		},
	}
}

// What a main() allocates, copies and launches is recorded; its kernels do not run, and neither its time,
// its output nor its end matter.
func TestMainsAreObserved(t *testing.T) {
	o := observer(t)
	for name, c := range observedMains(t) {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "a.cu")
			text := kernels + "int main(int argc, char **argv) {\n" + c.main + "\n}\n"
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			run, err := o.File(t.Context(), file, "", []string{"-DUNUSED=1", "-I."})
			if err != nil {
				t.Fatal(err)
			}
			if got := describe(run); got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
			if took := time.Since(began); took > 10*longest {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// A file that does not compile, or that has no main(), gives an error.
func TestFilesWithoutMainAreNotObserved(t *testing.T) {
	o := observer(t)
	for _, text := range []string{kernels, kernels + "int main() { return absent; }\n"} {
		file := filepath.Join(t.TempDir(), "a.cu")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if run, err := o.File(t.Context(), file, "", nil); err == nil {
			t.Errorf("%s: observed %s", text[len(kernels):], describe(run))
		}
	}
}
