package truth_test

import (
	"fmt"
	"strings"
	"testing"

	"triad/internal/docpage"
	"triad/internal/truth"
)

// TestRelationsPage: docs/judge.md lists the relations of every operator: of one call, then between two; *
// holds to the bit.
func TestRelationsPage(t *testing.T) {
	var b strings.Builder
	b.WriteString("| operator | of the judged call | between calls |\n|---|---|---|\n")
	for _, o := range truth.All() {
		for _, pass := range o.Spec.Passes() {
			var one, two []string
			for _, r := range truth.Relations(o.Spec.Name) {
				name := r.Name
				if r.ToTheBit {
					name += "*"
				}
				switch {
				case r.Pass != pass:
				case r.Second == nil:
					one = append(one, name)
				default:
					two = append(two, name)
				}
			}
			fmt.Fprintf(&b, "| %s %v | %s | %s |\n", o.Spec.Name, pass, strings.Join(one, "; "),
				strings.Join(two, "; "))
		}
	}
	docpage.Is(t, "../../docs/judge.md", "relations", b.String(), *update,
		"go test ./internal/truth -run RelationsPage -update")
}
