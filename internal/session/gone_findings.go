package session

import (
	"fmt"
	"slices"
	"strings"

	"triad/internal/catalog"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/run"
)

// GoneFindings returns sentences about findings that no longer happen. One that a record names, which a
// resumed session may have found before, does happen.
func GoneFindings(result run.Result) []string {
	var all []string
	for _, f := range result.Findings {
		if _, err := catalog.Get(f.Op); err != nil { // a copy of an operator, whose cases are others
			continue
		}
		happened := slices.ContainsFunc(result.Records, func(r record.Record) bool {
			return r.Status == op.StatusKnown && r.Case.Op == f.Op && strings.Contains(r.Message, f.ID+": ")
		})
		if !f.Gone() || happened {
			continue
		}
		var versions []string
		for name := range f.Versions {
			versions = append(versions, name+" "+result.Versions[name])
		}
		all = append(all, fmt.Sprintf("Finding %s no longer happens: %s passed all %d cases of %s that it "+
			"covers, with %s. internal/catalog/%s/findings.toml still has it.",
			f.ID, strings.Join(f.Implementations, " and "), f.Covered, f.Op, strings.Join(versions, " and "),
			f.Op))
	}
	return all
}
