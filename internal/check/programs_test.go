package check

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// programs is the folder of the ordinary programs.
const programs = "../../cuda/emulator/testdata/programs"

// features lists the parts of CUDA that a program may use, rare ones before those that nearly every program
// has: a program represents the first that it uses.
var features = []struct {
	name string
	uses *regexp.Regexp
}{
	{"asynchronous copies", regexp.MustCompile(`memcpy_async|cuda/pipeline|cuda/barrier`)},
	{"inline PTX", regexp.MustCompile(`\basm\b`)},
	{"matrices of a warp", regexp.MustCompile(`wmma::`)},
	{"cooperative groups", regexp.MustCompile(`cooperative_groups`)},
	{"a lock or a flag between blocks", regexp.MustCompile(`__threadfence|cuda::atomic`)},
	{"16-bit floats", regexp.MustCompile(`\b(__half|half|__nv_bfloat16)2?\b`)},
	{"parts of words", regexp.MustCompile(`__v(add|iadd)`)},
	{"streams", regexp.MustCompile(`cudaStream_t`)},
	{"shuffles", regexp.MustCompile(`__shfl_`)},
	{"shared memory", regexp.MustCompile(`__shared__`)},
	{"atomics", regexp.MustCompile(`\batomic[A-Z]`)},
}

// featureOf returns the feature that a program represents.
func featureOf(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range features {
		if f.uses.Match(text) {
			return f.name
		}
	}
	return "threads alone"
}

// TestPrograms: ordinary programs in the style of courses run in every order, pass their own check, and have
// no findings. The fast tier runs one program for each feature of CUDA.
func TestPrograms(t *testing.T) {
	files := programsIn(t, programs)
	if len(files) < 60 {
		t.Fatalf("%d programs: want at least 60", len(files))
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".cu"), func(t *testing.T) {
			covers(t, file, featureOf(t, file))
			t.Parallel()
			r, output := checked(t, file, time.Minute)
			if output != "right\n" {
				t.Errorf("it printed %q", output)
			}
			for _, f := range r.Findings {
				t.Errorf("%v %s", sides(f), f.Sentence())
			}
			if len(r.Orders) != len(Orders) {
				t.Errorf("it ran in %v", r.Orders)
			}
		})
	}
}

// TestMacrosOfOneLetter: -D N=1000 and the like do not affect the emulator's headers.
func TestMacrosOfOneLetter(t *testing.T) {
	var define []string
	for letter := 'A'; letter <= 'Z'; letter++ {
		if !strings.ContainsRune("NBM", letter) { // which the program defines itself
			define = append(define, string(letter)+"=7")
		}
	}
	file := "../../cuda/emulator/testdata/programs/short_names.cu"
	if r, output := checked(t, file, time.Minute, define...); len(r.Findings) > 0 || output != "right\n" {
		t.Errorf("findings %v, output %q", r.Findings, output)
	}
}
