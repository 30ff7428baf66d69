package kernelfile

import (
	"slices"
	"strings"
	"testing"
)

func TestStems(t *testing.T) {
	for _, c := range []struct{ paths, want string }{
		{"row.cu", "row"},
		{"/a/row.cu /a/b/online.cu", "row online"},
		{"/a/k.cu /b/k.cu /b/j.cu", "a/k b/k j"},
		{"/x/a/k.cu /y/a/k.cu /y/b/k.cu", "x/a/k y/a/k b/k"},
		{"/a/k.cu /a/k.py", "k.cu k.py"},
		{"/a/k.cu /a/k.py /b/k.cu", "k.cu k.py k"},
		{"k.cu /a/k.cu", "k a/k"},
		{"/a/k.cu /a/k.cu", "k k"}, // two functions of one file
		{"/a/my,kernel\".cu", "my_kernel_"},
		{"/a/./k.cu /b/k.cu", "a/k b/k"},
		{"/k.cu /a/k.cu", "k a/k"},
	} {
		if got := Stems(strings.Fields(c.paths)); !slices.Equal(got, strings.Fields(c.want)) {
			t.Errorf("%s: %v, want %s", c.paths, got, c.want)
		}
	}
}
