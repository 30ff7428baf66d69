package ownkernels

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"triad/internal/ownfile/nearby"
)

const lonelyKernel = "import triton\n\n\n@triton.jit\ndef rows_kernel(x, y, n, BLOCK: tl.constexpr):\n" +
	"    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n" +
	"    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)\n"

// The launcher of a file's kernels is the only file near it that imports it, launches one of them and is not
// a test.
func TestLauncherOf(t *testing.T) {
	launches := "from rows import rows_kernel\n\n\ndef softmax(x):\n" +
		"    rows_kernel[(1,)](x, x, 1, 1)\n    return x\n"
	for _, c := range []struct {
		name, kernels string
		files         map[string]string
		want          string
	}{
		{"beside it", lonelyKernel, map[string]string{"softmax.py": launches}, "softmax.py"},
		{"in another folder", lonelyKernel, map[string]string{"../ops/a.py": launches}, "../ops/a.py"},
		{"a test", lonelyKernel, map[string]string{"test_softmax.py": launches}, ""},
		{"two", lonelyKernel, map[string]string{"a.py": launches, "b.py": launches}, ""},
		{"another import", lonelyKernel, map[string]string{
			"a.py": strings.ReplaceAll(launches, "from rows ", "from arrows "),
		}, ""},
		{"no launch", lonelyKernel, map[string]string{
			"a.py": strings.ReplaceAll(launches, "rows_kernel[(1,)]", "rows_kernel"),
		}, ""},
		{"a function of its own", lonelyKernel + "\n\ndef softmax(x):\n    return x\n", map[string]string{
			"a.py": launches,
		}, ""},
	} {
		folder := filepath.Join(t.TempDir(), "kernels")
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(folder, "rows.py")
		for name, text := range c.files {
			at := filepath.Join(folder, name)
			if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want := ""
		if c.want != "" {
			want = filepath.Join(folder, c.want)
		}
		if got := nearby.Launcher(path, []byte(c.kernels), parsed); got != want {
			t.Errorf("%s: %q, want %q", c.name, got, want)
		}
	}
}
