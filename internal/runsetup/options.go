package runsetup

import (
	"io/fs"
	"slices"

	"triad/internal/console"
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

// Request converts the flags to a request, as CaseFlags.Request does. For an added file without an operator
// of its own the error, one of usage, names the command that guesses it.
func (o *Options) Request(sources fs.FS, names []string) (run.Request, error) {
	if len(o.Own.Add) > 0 && (len(names) == 0 || slices.Contains(names, "all")) {
		guess := "triad FOLDER, which guesses that of each file"
		if len(o.Own.Add) == 1 {
			guess = "triad " + o.Own.Add[0] + ", which guesses it"
		}
		return run.Request{}, console.Usage("--add speaks of one operator: name the one that the file "+
			"implements, or run %s", guess)
	}
	return o.CaseFlags.Request(sources, names)
}
