package runsetup

import (
	"github.com/spf13/cobra"

	"triad/cmd/triad/console"
	"triad/cmd/triad/workers"
	"triad/internal/run"
)

// Options holds the options of the verbs that judge: compare, gradcheck, watch and bench.
type Options struct {
	CaseFlags
	workers.EnvironmentFlags
	OwnFlags
	JSON, Resume, Explain, Verbose bool
	Untimed, Strict, PlanOnly      bool
	Sanitizers                     []string // tools of compute-sanitizer
	Verb, DB, Dump, Against        string
	ciFlags
	On    OnFlags
	Args  []string // as typed
	After func(run.Result)
}

// AddOnGPU adds the flags for a GPU to compare.
func (o *Options) AddOnGPU(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.Untimed, "no-timing", false,
		"do not time what passed: the operator's first bench point, or the case that the flags name")
	cmd.Flags().StringSliceVar(&o.Sanitizers, "sanitize", nil,
		"on a GPU: run CUDA kernels, those of --add too, under these tools of compute-sanitizer, e.g. "+
			"memcheck,racecheck, or all")
}

// AddAgainst adds the flag for a comparison with earlier records to compare.
func (o *Options) AddAgainst(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.Against, "against", "",
		"then say what became wrong, right, slower or faster since a session, commit or database, as triad "+
			"results diff names them")
}

// Add adds the flags of a run to a verb; pass is the default of --pass.
func (o *Options) Add(cmd *cobra.Command, pass string) {
	o.CaseFlags.Add(cmd, pass)
	o.EnvironmentFlags.Add(cmd)
	o.OwnFlags.Register(cmd)
	cmd.Flags().BoolVar(&o.JSON, "json", false,
		"one JSON object a line for each implementation and case (docs/json.md)")
	cmd.Flags().BoolVar(&o.Resume, "resume", false, "finish the newest interrupted run of the same request")
	cmd.Flags().BoolVar(&o.Explain, "explain", false,
		"for each output: what its contract promises, the worst elements, how the errors are distributed")
	cmd.Flags().BoolVarP(&o.Verbose, "verbose", "v", false,
		"a line for each dtype with its largest error, the cases that cannot tell right from wrong, and "+
			"how far implementations lie apart")
	o.AddStrict(cmd)
	cmd.Flags().StringVar(&o.Dump, "dump", "",
		"write inputs, outputs, truth and allowance of every case as safetensors into this folder")
	cmd.Flags().StringVar(&o.DB, "db", "", console.DatabaseUsage)
}

// AddStrict adds --strict to a verb.
func (o *Options) AddStrict(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.Strict, "strict", false,
		"count KNOWN as bad: faults of libraries that a documented finding covers (triad ops findings)")
}
