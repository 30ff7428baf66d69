package run

import (
	"fmt"
	"slices"
	"strings"

	"triad/internal/backend"
	"triad/internal/op"
)

// spreading is a backend that judges in several workers side by side, until Together ends them and the rest
// runs in one worker for each kind.
type spreading interface {
	Lanes() int
	Together()
	// Expect announces the number of jobs to come that do not wait for each other, 0 if it is not known.
	Expect(jobs int)
}

// expectJobs informs the backends how many jobs of a request can be judged side by side, if it names
// implementations: those of one implementation on the cases of one pass and dtype stay together.
func expectJobs(backends []backend.Backend, impls []string, plans []op.Plan) {
	groups := 0
	for _, plan := range plans {
		seen := map[string]bool{}
		for _, c := range plan.Cases {
			seen[fmt.Sprint(c.Pass, " ", c.DType)] = true
		}
		groups += len(seen)
	}
	for _, b := range backends {
		s, ok := backend.As[spreading](b)
		if !ok {
			continue
		}
		named := 0
		for _, prefix := range impls {
			family, variant, _ := strings.Cut(prefix, "/")
			if !slices.Contains(b.Families(), family) {
				continue
			}
			if variant == "" { // the size of a family is known when it is loaded
				named = 0
				break
			}
			named++
		}
		s.Expect(named * groups)
	}
}
