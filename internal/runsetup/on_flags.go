package runsetup

import (
	"encoding/csv"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"triad/internal/console"
	"triad/internal/opfolder"
	"triad/internal/run"
)

// OnFlags holds the flags that hand a run to other machines.
type OnFlags struct {
	Engine, Slurm, Parts string
	Gpus                 string
	Visible              []string // CUDA_VISIBLE_DEVICES for each of the GPUs
	Shards               int
	Given                *pflag.FlagSet // of the verb
}

// name returns the engine without the address of its cluster.
func (f *OnFlags) name() string {
	name, _, _ := strings.Cut(f.Engine, ":")
	return name
}

// local lists the flags that the driver handles itself.
var local = []string{
	"on", "shards", "slurm", "parts", "gpus", "db", "json", "resume", "junit", "github", "seed", "strict",
	"add",
}

// CheckOn rejects what a run on other machines, or on several GPUs, does not support.
func (o *Options) CheckOn(request run.Request) error {
	check := o.On.checkEngine
	if o.On.Gpus != "" {
		check = o.checkGPUs
	}
	if err := check(); err != nil {
		return err
	}
	switch f := o.On; {
	case o.Shard != "" || o.PlanOnly || o.Explain || o.Verbose || len(o.Sanitizers) > 0 ||
		o.Dump+o.Against != "":
		return console.Usage(
			"--on and --gpus cut the run themselves and print the union: --shard, --plan, --explain, " +
				"--verbose, --sanitize, --dump and --against are flags of a run in one process",
		)
	case f.name() == "ray" && strings.Contains(strings.Join(o.Own.NVCCFlags, " "), "-I"):
		return console.Usage(
			"--on ray brings a file and what it includes from its own folder to the nodes, and not " +
				"the folders of -I: put the headers beside the file",
		)
	case opfolder.Of(request.Operators) != nil:
		return console.Usage(
			"--on and --gpus judge operators of the catalog: run a folder's operator in one process")
	}
	return nil
}

// checkEngine rejects combinations of an engine's flags.
func (f *OnFlags) checkEngine() error {
	switch {
	case f.Engine != "slurm" && f.name() != "ray":
		return console.Usage("--on %q: want slurm, ray, or ray:ADDRESS", f.Engine)
	case f.Slurm != "" && f.Engine != "slurm":
		return console.Usage("--slurm has options for sbatch: it is a flag of --on slurm")
	case f.Shards < 1 || f.Shards > mostShards:
		return console.Usage("--shards %d: want a number from 1 to %d", f.Shards, mostShards)
	}
	return nil
}

// Forwarded returns the command line of the tasks: what was typed, without what the driver handles itself.
func (o *Options) Forwarded(r run.Request, seed uint64) ([]string, error) {
	args := []string{o.Verb}
	for _, operator := range r.Operators {
		args = append(args, operator.Spec.Name)
	}
	var err error
	o.On.Given.Visit(func(f *pflag.Flag) {
		if slices.Contains(local, f.Name) {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			if f.Value.Type() == "stringSlice" { // read as CSV again
				var text strings.Builder
				w := csv.NewWriter(&text)
				err = errors.Join(err, w.Write([]string{value}))
				w.Flush()
				value = strings.TrimSuffix(text.String(), "\n")
			}
			args = append(args, "--"+f.Name+"="+value)
		}
	})
	if f := o.Own; len(f.Add) > 0 && !f.Sandbox && !f.NoSandbox && o.On.Engine != "" {
		args = append(args, "--sandbox") // the sender of files to other machines need not have written them
	}
	if o.On.Gpus != "" {
		args = append(args, "--device=gpu")
	}
	return append(args, "--seed="+strconv.FormatUint(seed, 10)), err
}
