package ownkernels

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLibraryOfMainIsLeftOut(t *testing.T) {
	const kernel = "#include <thrust/device_vector.h>\n__global__ void k(float *x) { x[0] = 1; }\n"
	const main = "int main(int argc, char **argv) {\n  thrust::device_vector<float> x(1); // }\n" +
		"  if (argc) { return 1; }\n}\n"
	left, ok := withoutLibraryOfMain([]byte(kernel+main+"// after\n"), t.TempDir())
	if !ok || strings.Contains(string(left), "thrust") || !strings.Contains(string(left), "x[0] = 1") ||
		!strings.HasSuffix(string(left), "}\n// after\n") || strings.Count(string(left), "\n") != 7 {
		t.Errorf("%t\n%s", ok, left)
	}
	const course = "#include <wb.h>\n#define wbCheck(x) \\\n  do { wbLog(x); } while (0)\n" +
		"__global__ void k(float *x) { x[0] = 1; }\n"
	if left, ok := withoutLibraryOfMain([]byte(course+main), t.TempDir()); !ok ||
		strings.Contains(string(left), "wb.h") {
		t.Errorf("%t\n%s", ok, left)
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "wb.h"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if left, ok := withoutLibraryOfMain([]byte(course+main), folder); ok {
		t.Errorf("its header lies beside it, and it is cut to\n%s", left)
	}
	for name, text := range map[string]string{
		"another one uses a macro of it": course + "void f(float *x) { wbCheck(x); }\n" + main,
		"another function uses it":       kernel + "void sort(float *x) { thrust::sort(x, x); }\n" + main,
		"nothing is included": strings.TrimPrefix(kernel,
			"#include <thrust/device_vector.h>\n") + main,
		"no main":                  kernel,
		"a main that does not end": kernel + "int main() { {\n}\n",
	} {
		if left, ok := withoutLibraryOfMain([]byte(text), t.TempDir()); ok {
			t.Errorf("%s: it is cut to\n%s", name, left)
		}
	}
}
