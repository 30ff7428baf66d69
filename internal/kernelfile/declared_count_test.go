package kernelfile

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var caseOf = regexp.MustCompile(`(?m)^file = ['"]([^'"]+)['"]\noperator = ['"]([^'"]+)['"]`)

func TestCountLines(t *testing.T) {
	folder := "../../cmd/triad/testdata/own"
	text, err := os.ReadFile(folder + "/cases.toml")
	if err != nil {
		t.Fatal(err)
	}
	all, can := 0, 0
	seen := map[string]bool{}
	for _, m := range caseOf.FindAllStringSubmatch(string(text), -1) {
		if seen[m[1]+m[2]] {
			continue
		}
		seen[m[1]+m[2]] = true
		content, err := os.ReadFile(filepath.Join(folder, m[1]))
		if err != nil {
			continue
		}
		r := Request{Path: m[1]}
		s := spec(t, m[2])
		bound, err := Bind(r.Read(string(content), nil), r, s, s.Passes(), Options{})
		if err != nil {
			continue
		}
		for _, b := range bound {
			all++
			line, ok := b.Declaration()
			if ok {
				can++
				t.Logf("ok %s %s", m[1], line.Text(b.Sign()))
				continue
			}
			t.Logf("NO %s %v %s", m[1], b.Pass, line.Text(b.Sign()))
			other, err := b.readWith(line)
			if err != nil {
				t.Logf("      %v", err)
				continue
			}
			x, y := strings.Split(b.shim(), "\n"), strings.Split(other.shim(), "\n")
			for i := range x {
				if i >= len(y) || x[i] != y[i] {
					t.Logf("   - %s\n   + %s", x[i], y[min(i, len(y)-1)])
					break
				}
			}
			t.Logf("   assumed %v; alike %v: %v %v", other.Assumptions(), b.SameAs(other), b.Fixed(), other.Fixed())
		}
	}
	t.Logf("%d of %d", can, all)
}
