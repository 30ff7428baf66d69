package ownfile

import (
	"slices"
	"strings"
	"testing"

	"triad/internal/ownfile/binding"
)

func TestStems(t *testing.T) {
	for _, c := range []struct{ paths, want string }{
		{"row.cu", "row.cu"},
		{"/a/row.cu /a/b/online.cu", "row.cu online.cu"},
		{"/a/k.cu /b/k.cu /b/j.cu", "a/k.cu b/k.cu j.cu"},
		{"/x/a/k.cu /y/a/k.cu /y/b/k.cu", "x/a/k.cu y/a/k.cu b/k.cu"},
		{"/a/k.cu /a/k.py", "k.cu k.py"},
		{"/a/k.cu /a/k.py /b/k.cu", "a/k.cu k.py b/k.cu"},
		{"k.cu /a/k.cu", "k.cu a/k.cu"},
		{"/a/k.cu /a/k.cu", "k.cu k.cu"}, // two functions of one file
		{"/a/my,kernel\".cu", "my_kernel_.cu"},
		{"/a/./k.cu /b/k.cu", "a/k.cu b/k.cu"},
		{"/k.cu /a/k.cu", "k.cu a/k.cu"},
	} {
		if got := binding.Stems(strings.Fields(c.paths)); !slices.Equal(got, strings.Fields(c.want)) {
			t.Errorf("%s: %v, want %s", c.paths, got, c.want)
		}
	}
}
