// Package flags adds the flags that several verbs share to their commands.
package flags

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"triad/internal/console"
	"triad/internal/look"
	"triad/internal/machine"
	"triad/internal/ownfile/added"
	"triad/internal/runsetup"
	"triad/internal/worker"
)

// Run adds the flags of a run to a verb; pass is the default of --pass.
func Run(cmd *cobra.Command, o *runsetup.Options, pass string) {
	Cases(cmd, &o.CaseFlags, pass)
	Environment(cmd, &o.EnvironmentFlags)
	Own(cmd, &o.Own)
	cmd.Flags().BoolVar(&o.JSON, "json", false,
		"one JSON object a line for each implementation and case (docs/json.md)")
	cmd.Flags().BoolVar(&o.Resume, "resume", false, "finish the newest interrupted run of the same request")
	cmd.Flags().BoolVar(&o.Explain, "explain", false,
		"for each output: what its contract promises, the worst elements, how the errors are distributed")
	cmd.Flags().BoolVarP(&o.Verbose, "verbose", "v", false,
		"a line for each dtype with its largest error, the cases that cannot tell right from wrong, and "+
			"how far implementations lie apart")
	Strict(cmd, o)
	cmd.Flags().StringVar(&o.Dump, "dump", "",
		"write inputs, outputs, truth and error bound of every case as safetensors into this folder")
	cmd.Flags().StringVar(&o.DB, "db", "", console.DatabaseUsage)
}

// OnGPU adds the flags for a GPU to compare.
func OnGPU(cmd *cobra.Command, o *runsetup.Options) {
	cmd.Flags().BoolVar(&o.Untimed, "no-timing", false,
		"do not time what passed: the operator's first bench point, or the case that the flags name")
	cmd.Flags().StringSliceVar(&o.Sanitizers, "sanitize", nil,
		"on a GPU: run CUDA kernels, those of --add too, under these tools of compute-sanitizer, e.g. "+
			"memcheck,racecheck, or all")
}

// Against adds the flag for a comparison with earlier records to compare.
func Against(cmd *cobra.Command, o *runsetup.Options) {
	cmd.Flags().StringVar(&o.Against, "against", "",
		"then say what became wrong, right, slower or faster since a session, commit or database, as triad "+
			"results diff names them")
}

// Strict adds --strict to a verb.
func Strict(cmd *cobra.Command, o *runsetup.Options) {
	cmd.Flags().BoolVar(&o.Strict, "strict", false,
		"count KNOWN as bad: faults of libraries that a documented finding covers (triad ops findings)")
}

// Plan adds the flag --plan to a verb that runs something.
func Plan(cmd *cobra.Command, o *runsetup.Options) {
	cmd.Flags().BoolVar(&o.PlanOnly, "plan", false,
		"print what would be run, and run nothing; with --json one object a line for each case "+
			"(docs/json.md)")
}

// Shard adds the flag --shard to a verb that runs something.
func Shard(cmd *cobra.Command, o *runsetup.Options) {
	cmd.Flags().StringVar(&o.Shard, "shard", "",
		"run part I of N alone, e.g. 1/4: the parts take about equally long, and triad results merge makes "+
			"one database of theirs")
}

// CI adds the flags for CI systems to compare.
func CI(cmd *cobra.Command, f *runsetup.CIFlags) {
	cmd.Flags().StringVar(&f.JUnit, "junit", "",
		"write this file as JUnit's XML: a test case for each implementation and case")
	cmd.Flags().BoolVar(&f.GitHub, "github", false,
		"print what is bad as annotations of GitHub Actions too, on stderr")
}

// Cases adds the flags that choose what is run; pass is the default of --pass.
func Cases(cmd *cobra.Command, f *runsetup.CaseFlags, pass string) {
	fs := cmd.Flags()
	fs.StringVar(&f.Pass, "pass", pass, "forward, backward or both")
	fs.StringSliceVar(&f.DTypes, "dtype", nil, "only these dtypes, e.g. fp16,bf16")
	fs.StringSliceVar(&f.Dims, "dims", nil,
		"sizes, e.g. rows=8,cols=1000; a dim not named keeps the level's values")
	fs.StringArrayVar(&f.Attrs, "attr", nil, "an attribute, e.g. causal=true; may be repeated")
	fs.StringSliceVar(&f.Impls, "impl", nil, "only implementations with these prefixes, e.g. cuda,triton/row")
	fs.StringVar(&f.Device, "device", "auto", "auto, cpu or gpu")
	fs.IntVar(&f.GPU, "gpu", -1, "use this GPU, a number among the visible ones, from 0")
	fs.BoolVar(&f.Quick, "quick", false,
		"at most 15 cases for each operator, dtype and pass: on a CPU 10 to 30 s for an operator")
	fs.BoolVar(&f.Full, "full", false, "every case: on a CPU a few minutes for an operator")
	fs.StringVar(&f.Seed, "seed", strconv.Itoa(runsetup.DefaultSeed),
		"seed of the inputs: a number, or random to draw one")
	fs.StringArrayVar(&f.Limits, "limit", nil, "a deadline, NAME=DURATION, NAME one of "+
		strings.Join(worker.LimitNames(), ", "))
	fs.StringSliceVar(&f.Distribution, "distribution", nil,
		"only these input distributions, e.g. normal,extremes")
	fs.StringSliceVar(&f.Layout, "layout", nil, "only these memory layouts, e.g. contiguous,sliced")
	fs.StringSliceVar(&f.Upstream, "upstream", nil,
		"backward: only these upstream gradients, e.g. normal,ones")
	fs.StringSliceVar(&f.Saved, "saved", nil,
		"backward: only driver-made (driver) or chained (own) saved tensors")
}

// Own adds the flags of added files.
func Own(cmd *cobra.Command, f *added.Flags) {
	fs := cmd.Flags()
	fs.StringArrayVar(&f.Add, "add", nil, "judge a file of your own beside ours: "+
		"FILE.cu[:function][@pass] or FILE.py[:function][@pass]; a folder or a pattern, e.g. 'new/**/*.cu', "+
		"adds each file in it, - those of a list on standard input: compare then judges these alone, a row "+
		"each; may be repeated")
	fs.StringSliceVar(&f.Mapped, "map", nil, "with --add: what a parameter stands for, e.g. out=y,N=cols; "+
		"a line above the function says the same: // triad: OP(y=out, cols=N)")
	fs.StringArrayVar(&f.NVCCFlags, "nvcc-flags", nil, "with --add of a .cu: flags for its compiler, e.g. "+
		"\"-DTILE=32 -Iinclude -use_fast_math\"; without a GPU -D, -U, -I and -std alone apply")
	fs.BoolVar(&f.Sandbox, "sandbox", false, "with --add: compile and run the files in a sandbox, as those "+
		"of a folder, a pattern or a list are (docs/fleet.md)")
	fs.BoolVar(&f.NoSandbox, "no-sandbox", false,
		"with --add of a folder, a pattern or a list: trust the files, and run them without a sandbox")
	fs.StringVar(&f.Contract, "contract", "", "with --add: the contract that the file declares, e.g. eager "+
		"for every step in the dtype (triad ops show OP lists them)")
	fs.StringVar(&f.Grid, "grid", "",
		"with --add of a lone __global__ function: its grid over the sizes, e.g. \"ceildiv(cols, 16), rows\"")
	fs.StringVar(&f.Block, "block", "",
		"with --add of a lone __global__ function: its block, e.g. 256 or \"16, 16\"")
	fs.StringVar(&f.Shared, "shared", "",
		"with --add of a lone __global__ function: bytes of dynamic shared memory, e.g. \"4 * cols\"")
}

// On adds the flags that hand a run to other machines, or to several GPUs.
func On(cmd *cobra.Command, f *runsetup.OnFlags) {
	f.Given = cmd.Flags()
	cmd.Flags().StringVar(&f.Engine, "on", "", "run on other machines: slurm, ray, or ray:ADDRESS of a "+
		"cluster (docs/fleet.md)")
	cmd.Flags().IntVar(&f.Shards, "shards", 8, "with --on: cut the plan into so many tasks")
	cmd.Flags().StringVar(&f.Slurm, "slurm", "",
		"with --on slurm: options for sbatch, e.g. \"--partition=h200 --gres=gpu:1\"")
	cmd.Flags().StringVar(&f.Parts, "parts", "",
		"with --on: a folder that all machines see (default: beside the database)")
	cmd.Flags().StringVar(&f.Gpus, "gpus", "", "use several GPUs of this machine: all, or numbers among the "+
		"visible ones, e.g. 0,2; each takes the next case when it is free (docs/fleet.md)")
}

// Look adds the flags of triad FILE and triad FOLDER.
func Look(cmd *cobra.Command, o *look.Options) {
	f := cmd.Flags()
	f.BoolVar(&o.Once, "once", false, "of files: do not look again when one is saved")
	f.BoolVar(&o.Page, "page", false, "of files: show them on a page too, which follows each save")
	f.BoolVarP(&o.Verbose, "verbose", "v", false, "of files: all that each step says")
	f.StringVar(&o.DB, "db", "", "of files: "+console.DatabaseUsage)
}

// Environment adds the flags of a verb that may need Python.
func Environment(cmd *cobra.Command, f *machine.EnvironmentFlags) {
	cmd.Flags().BoolVarP(&f.Yes, "yes", "y", false, "make the private Python environment without asking")
	cmd.Flags().BoolVar(&f.Offline, "offline", false, "never fetch anything")
}
