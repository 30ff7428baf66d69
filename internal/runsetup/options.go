package runsetup

import (
	"triad/internal/machine"
	"triad/internal/ownfile/added"
	"triad/internal/run"
)

// Options holds the options of the verbs that judge: compare, gradcheck, watch and bench.
type Options struct {
	CaseFlags
	machine.EnvironmentFlags
	Own                            added.Flags // the files that a user adds
	JSON, Resume, Explain, Verbose bool
	Untimed, Strict, PlanOnly      bool
	Sanitizers                     []string // tools of compute-sanitizer
	Verb, DB, Dump, Against        string
	CIFlags
	On    OnFlags
	Args  []string // as typed
	After func(run.Result)
}
