package serve

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var updateHeaders = flag.Bool("update-headers", false, "write the hash of the included headers")

var includedHeader = regexp.MustCompile(`(?m)^#include "([^"]+)"$`)

// TestHeadersHash: the package is built anew after a change of a header that it includes.
func TestHeadersHash(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var headers []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		preamble, _, uses := strings.Cut(string(text), "\nimport \"C\"\n")
		for _, m := range includedHeader.FindAllStringSubmatch(preamble, -1) {
			if uses && !slices.Contains(headers, m[1]) {
				headers = append(headers, m[1])
			}
		}
	}
	slices.Sort(headers)
	if !slices.Contains(headers, "abi.h") || len(headers) < 5 {
		t.Fatalf("the package includes %q: want abi.h and four others", headers)
	}
	sum := sha256.New()
	for _, header := range headers {
		text, err := os.ReadFile(filepath.Join("..", header))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(sum, "%s %d\n%s", header, len(text), text)
	}
	now := fmt.Sprintf("%x", sum.Sum(nil)[:8])
	if now == headersHash {
		return
	}
	if !*updateHeaders {
		t.Fatalf("a header of cuda changed: go test ./cuda/serve -run '^TestHeadersHash$' -update-headers")
	}
	text, err := os.ReadFile("headers.go")
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), fmt.Sprintf("%q", headersHash), fmt.Sprintf("%q", now), 1)
	if err := os.WriteFile("headers.go", []byte(changed), 0o644); err != nil {
		t.Fatal(err)
	}
}
