package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"triad"
	"triad/cuda/build"
	"triad/internal/session"
	"triad/internal/truth"
)

// TestCataloguePage: the page of the catalogue matches specs and headers, and shows a ladder for each
// operator, the readable variant first.
func TestCataloguePage(t *testing.T) {
	var out bytes.Buffer
	if code := newApp(nil, &out, &out).execute([]string{"ops", "catalogue"}); code != session.ExitGood {
		t.Fatalf("exit %d: %s", code, &out)
	}
	page, err := os.ReadFile("../../docs/catalogue.md")
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(page) {
		t.Error("docs/catalogue.md is not what the operators say: go run ./cmd/triad ops catalogue > " +
			"docs/catalogue.md")
	}
	for _, o := range truth.All() {
		if !strings.Contains(string(page), "\n## "+o.Spec.Name+"\n") {
			t.Errorf("%s is not on the page", o.Spec.Name)
		}
		variants, err := build.Variants(triad.Files, o.Spec.Name)
		if err != nil || len(variants) < 2 {
			t.Errorf("%s has the variants %v, %v", o.Spec.Name, variants, err)
		}
	}
}
