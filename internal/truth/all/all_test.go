package all

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"triad/internal/newoperator"
)

var update = flag.Bool("update", false, "write all.go")

// TestAllListsEveryOperator: all.go imports every folder of internal/catalog that has a spec.
func TestAllListsEveryOperator(t *testing.T) {
	const root = "../../.."
	if *update {
		if err := newoperator.UpdateImportList(root); err != nil {
			t.Fatal(err)
		}
	}
	operators, err := newoperator.Operators(root)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("all.go")
	if err != nil {
		t.Fatal(err)
	}
	if want := newoperator.ImportListOf(operators); !bytes.Equal(got, want) {
		t.Errorf("all.go does not list the operators of internal/catalog: run go test ./internal/truth/all "+
			"-update\nwant\n%s", want)
	}
}
