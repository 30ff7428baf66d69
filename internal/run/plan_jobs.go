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
	// Spreads reports whether the jobs of an implementation, or of a family, are judged side by side.
	Spreads(implementation string) bool
	// Expect announces the number of jobs to come that do not wait for each other, 0 if it is not known,
	// negative if there are none.
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
		s.Expect(jobsOf(b, s, impls) * groups)
	}
}

// jobsOf returns how many of the implementations that begin with the prefixes a backend judges side by side:
// 0 if it is not known, -1 if none.
func jobsOf(b backend.Backend, s spreading, prefixes []string) int {
	named, alone := 0, false
	for _, prefix := range prefixes {
		family, variant, _ := strings.Cut(prefix, "/")
		switch {
		case !slices.Contains(b.Families(), family):
		case !s.Spreads(prefix):
			alone = true
		case variant == "": // the size of a family is known when it is loaded
			return 0
		default:
			named++
		}
	}
	if named == 0 && alone {
		return -1
	}
	return named
}
