package build

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"triad/internal/backend"
)

// shipping makes sources with one kernel file, and a folder with its library as Ship leaves it.
func shipping(t *testing.T) (fs.FS, string) {
	t.Helper()
	sources := fstest.MapFS{
		"cuda/abi.h":            {Data: []byte("/* abi */\n")},
		"cuda/include/half.cuh": {Data: []byte("inline int half(int n) { return n / 2; }\n")},
		"cuda/kernels/scale.cu": {Data: []byte("#include \"half.cuh\"\nint scale;\n")},
	}
	set, err := Gather(sources, KernelFile("scale"))
	if err != nil {
		t.Fatal(err)
	}
	folder, binary := t.TempDir(), []byte("a library")
	s := shipment{
		Source: set.hash((&GPUBuilder{Architectures: ShippedArchitectures}).flags()),
		SHA256: fmt.Sprintf("%x", sha256.Sum256(binary)),
		record: record{Compiler: "nvcc V13.0.88", Log: "ptxas info    : Compiling entry function 'f' for " +
			"'sm_80'\nptxas info    : Used 12 registers\n" +
			"ptxas info    : Compiling entry function 'f' for 'sm_90a'\nptxas info    : Used 14 registers\n"},
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"scale.so": binary, "scale.json": text} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return sources, folder
}

// A shipped library is used for exactly the sources that it was built from, on the GPUs that it has code for.
func TestShippedLibraryFits(t *testing.T) {
	sources, folder := shipping(t)
	for _, c := range []struct{ major, minor, registers int }{
		{9, 0, 14},
		{8, 0, 12},
		{8, 9, 12},
		{12, 0, 12},
	} {
		l := GPULibraries{Sources: sources, Shipped: folder, Major: c.major, Minor: c.minor}
		library, err := l.Kernels(t.Context(), "scale")
		if err != nil {
			t.Fatalf("%d.%d: %v", c.major, c.minor, err)
		}
		if library.Path != filepath.Join(folder, "scale.so") || !library.Facts.Cached ||
			library.Facts.Compiler != "nvcc V13.0.88" {
			t.Errorf("%d.%d: %+v", c.major, c.minor, library)
		}
		if k := library.Facts.Kernels; len(k) != 1 || k[0].Registers != c.registers {
			t.Errorf("%d.%d: kernels %+v, want the one with %d registers", c.major, c.minor, k, c.registers)
		}
		if !l.Fits() {
			t.Errorf("%d.%d: it does not fit", c.major, c.minor)
		}
	}
}

// Any other library is not used; if nvcc is missing too, a sentence says both.
func TestShippedLibraryDoesNotFit(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(sources fstest.MapFS, folder string, l *GPULibraries)
		want   string
	}{
		{"another kernel", func(s fstest.MapFS, _ string, _ *GPULibraries) {
			s["cuda/kernels/scale.cu"] = &fstest.MapFile{
				Data: []byte("#include \"half.cuh\"\nint scale = 2;\n"),
			}
		}, "made from other sources"},
		{"another include", func(s fstest.MapFS, _ string, _ *GPULibraries) {
			s["cuda/include/half.cuh"] = &fstest.MapFile{Data: []byte("inline int half(int n) { return n " +
				">> 1; }\n")}
		}, "made from other sources"},
		{"a broken library", func(_ fstest.MapFS, folder string, _ *GPULibraries) {
			os.WriteFile(filepath.Join(folder, "scale.so"), []byte("a libr"), 0o644)
		}, "is not the library that was shipped"},
		{"no record", func(_ fstest.MapFS, folder string,
			_ *GPULibraries,
		) {
			os.Remove(filepath.Join(folder, "scale.json"))
		}, "no library is shipped"},
		{
			"an old GPU", func(_ fstest.MapFS, _ string, l *GPULibraries) { l.Major, l.Minor = 7, 5 },
			"begin at compute capability 8.0, the GPU has 7.5",
		},
		{
			"nothing shipped", func(_ fstest.MapFS, _ string, l *GPULibraries) { l.Shipped = "" },
			"no library is shipped",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			sources, folder := shipping(t)
			l := GPULibraries{Sources: sources, Shipped: folder, Cache: t.TempDir(), Major: 9}
			c.change(sources.(fstest.MapFS), folder, &l)
			if _, err := l.shipped("scale"); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want it to say %q", err, c.want)
			}
			if l.Fits() {
				t.Error("it fits")
			}
			withoutNVCC(t)
			var missing *backend.Unavailable
			if _, err := l.Kernels(t.Context(), "scale"); !errors.As(err, &missing) ||
				!strings.Contains(err.Error(), "no nvcc") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want a sentence about nvcc and %q", err, c.want)
			}
		})
	}
}

// withoutNVCC hides every nvcc.
func withoutNVCC(t *testing.T) {
	t.Helper()
	for _, name := range []string{"PATH", "CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV"} {
		t.Setenv(name, "")
	}
	usual := toolkits
	toolkits = nil
	t.Cleanup(func() { toolkits = usual })
}

// An nvcc that does not know the GPU is refused; the error has both versions.
func TestOldNVCC(t *testing.T) {
	withoutNVCC(t)
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\necho 'Cuda compilation tools, release 11.8, V11.8.89'\n"
	if err := os.WriteFile(filepath.Join(home, "bin", "nvcc"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CUDA_HOME", home)
	sources, _ := shipping(t)
	l := GPULibraries{Sources: sources, Cache: t.TempDir(), Major: 9}
	var missing *backend.Unavailable
	if _, err := l.Kernels(t.Context(), "scale"); !errors.As(err, &missing) ||
		!strings.Contains(err.Error(), "V11.8.89, which is too old for compute capability 9.0") {
		t.Errorf("got %v", err)
	}
}

// Code for an architecture with a letter runs on no other: the PTX is that of the last one without a letter.
func TestPTXIsPortable(t *testing.T) {
	flags := strings.Join((&GPUBuilder{Architectures: ShippedArchitectures}).flags(), " ")
	for _, want := range []string{"arch=compute_80,code=[sm_80,compute_80]", "arch=compute_90a,code=sm_90a"} {
		if !strings.Contains(flags, want) {
			t.Errorf("flags %s, want %s", flags, want)
		}
	}
	for gpu, want := range map[[2]int]string{{8, 6}: "sm_86", {9, 0}: "sm_90a", {10, 0}: "sm_100a"} {
		if got := (&GPULibraries{Major: gpu[0], Minor: gpu[1]}).architecture(); got != want {
			t.Errorf("compute capability %v: %s, want %s", gpu, got, want)
		}
	}
}

// Each requested operator must exist.
func TestShipOfWhatIsNotThere(t *testing.T) {
	sources, _ := shipping(t)
	err := Ship(t.Context(), sources, t.TempDir(), NVCC{}, t.TempDir(), "scales")
	if err == nil || !strings.Contains(err.Error(), "there is no kernel file cuda/kernels/scales.cu") {
		t.Errorf("%v", err)
	}
}

// fakeNVCC returns a compiler that runs a shell script in the place of nvcc. OUTPUT is the file that it has
// to make, and STARTED a folder with a file for each that began.
func fakeNVCC(t *testing.T, script string) NVCC {
	t.Helper()
	folder := t.TempDir()
	text := "#!/bin/sh\nfor OUTPUT; do :; done\nSTARTED=" + folder + "/started\nmkdir -p $STARTED\n" +
		": >$STARTED/$(basename $OUTPUT)\n" + script
	path := filepath.Join(folder, "nvcc")
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return NVCC{Path: path, Version: "V13.0.88"}
}

// Libraries are built on all cores: each of these compilers waits for the other.
func TestShipUsesAllCores(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	sources, _ := shipping(t)
	sources.(fstest.MapFS)["cuda/kernels/shift.cu"] = &fstest.MapFile{Data: []byte("int shift;\n")}
	compiler := fakeNVCC(t, `
for i in $(seq 100); do
	[ "$(ls $STARTED | wc -l)" = 2 ] && { echo library >$OUTPUT; exit; }
	sleep 0.1
done
echo "the other did not begin"
exit 1
`)
	folder := t.TempDir()
	if err := Ship(t.Context(), sources, t.TempDir(), compiler, folder); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"scale", "shift"} {
		l := GPULibraries{Sources: sources, Shipped: folder, Major: 9}
		if _, err := l.shipped(name); err != nil {
			t.Error(err)
		}
	}
}

// The first library that cannot be built ends the others.
func TestShipEndsAtTheFirstError(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	sources, _ := shipping(t)
	sources.(fstest.MapFS)["cuda/kernels/shift.cu"] = &fstest.MapFile{Data: []byte("int shift;\n")}
	compiler := fakeNVCC(t, `
case $OUTPUT in
*shift*) echo "cuda/kernels/shift.cu(1): error: identifier is undefined"; exit 1 ;;
esac
exec sleep 60
`)
	begin := time.Now()
	err := Ship(t.Context(), sources, t.TempDir(), compiler, t.TempDir())
	var mistake *Error
	if !errors.As(err, &mistake) || mistake.Line != 1 || time.Since(begin) > 30*time.Second {
		t.Errorf("%v after %v, want an error of line 1 at once", err, time.Since(begin))
	}
}
