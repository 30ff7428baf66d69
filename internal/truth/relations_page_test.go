package truth_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"triad/internal/docpage"
	"triad/internal/op"
	"triad/internal/truth"
)

// relationRow holds the operators that have a relation, by pass.
type relationRow struct {
	name  string
	calls int
	of    map[op.Pass][]string // operators, with * where the relation holds to the bit
	all   map[string]bool
}

// TestRelationsPage: results/published/judge-score.md lists the relations that several operators have: of one
// call, then between two; * holds to the bit.
func TestRelationsPage(t *testing.T) {
	rows := map[string]*relationRow{}
	var order []*relationRow
	for _, o := range truth.All() {
		for _, pass := range o.Spec.Passes() {
			for _, r := range truth.Relations(o.Spec.Name) {
				if r.Pass != pass {
					continue
				}
				if rows[r.Name] == nil {
					rows[r.Name] = &relationRow{
						name: r.Name, calls: 1, of: map[op.Pass][]string{}, all: map[string]bool{},
					}
					order = append(order, rows[r.Name])
				}
				row, name := rows[r.Name], o.Spec.Name
				if r.Second != nil {
					row.calls = 2
				}
				row.all[name] = true
				if r.ToTheBit {
					name += "*"
				}
				row.of[pass] = append(row.of[pass], name)
			}
		}
	}
	slices.SortStableFunc(order, func(a, b *relationRow) int { return a.calls - b.calls })
	var b strings.Builder
	b.WriteString("| relation | calls | forward of | backward of |\n|---|--:|---|---|\n")
	for _, r := range order {
		if len(r.all) > 1 {
			fmt.Fprintf(&b, "| %s | %d | %s | %s |\n", r.name, r.calls,
				strings.Join(r.of[op.Forward], ", "), strings.Join(r.of[op.Backward], ", "))
		}
	}
	docpage.Is(t, "../../results/published/judge-score.md", "relations", b.String(), *update,
		"go test ./internal/truth -run RelationsPage -update")
}
