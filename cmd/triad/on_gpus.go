package main

import (
	"context"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"triad/cmd/triad/console"
	"triad/cmd/triad/workers"
	"triad/internal/fleet"
)

func (f *onFlags) addGPUs(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.gpus, "gpus", "", "use several GPUs of this machine: all, or numbers among the "+
		"visible ones, e.g. 0,2; each takes the next case when it is free (docs/fleet.md)")
}

// apart reports whether the run is handed to other processes: on other machines, or one a GPU.
func (f *onFlags) apart() bool { return f.engine != "" || f.gpus != "" }

// words returns the words that name where a run is, by which --resume finds an interrupted one.
func (f *onFlags) words() []string {
	if f.gpus != "" {
		return []string{"gpus", strings.Join(f.visible, ",")}
	}
	return []string{"on", f.engine, strconv.Itoa(f.shards)}
}

// every returns the longest time between two looks of the driver at its tasks; 0: the default.
func (f *onFlags) every() time.Duration {
	if f.gpus != "" {
		return time.Second / 2
	}
	return 0
}

// checkGPUs rejects flags that choose other GPUs than --gpus.
func (o *compareOptions) checkGPUs() error {
	switch f := &o.on; {
	case f.engine != "":
		return console.Usage(
			"--on %s and --gpus %s exclude each other: a task has the GPU that its cluster gives it",
			f.engine, f.gpus)
	case o.GPU >= 0 || o.Device == "cpu":
		return console.Usage("--gpus %s says where the plan is run: --gpu and --device cpu exclude it",
			f.gpus)
	case f.given.Changed("shards") || f.slurm != "" || f.parts != "":
		return console.Usage(
			"--gpus %s runs on this machine: --shards, --slurm and --parts are flags of --on",
			f.gpus,
		)
	}
	_, err := numbersOf(o.on.gpus)
	return err
}

// numbersOf parses the numbers of --gpus; none for all.
func numbersOf(text string) (numbers []int, err error) {
	if text == "all" {
		return nil, nil
	}
	for _, word := range strings.Split(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		switch {
		case err != nil || n < 0:
			return nil, console.Usage("--gpus %q: want all, or numbers of GPUs from 0, e.g. 0,2", text)
		case slices.Contains(numbers, n):
			return nil, console.Usage("--gpus %q: GPU %d stands there twice", text, n)
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

// chooseGPUs finds the GPUs that --gpus names: a shard of the plan for each.
func (a *app) chooseGPUs(ctx context.Context, o *compareOptions) error {
	if o.on.gpus == "" {
		return nil
	}
	numbers, err := numbersOf(o.on.gpus)
	if err != nil {
		return err
	}
	all := workers.DeviceFlags{Device: "gpu", GPU: -1}
	g, err := a.ChooseGPU(ctx, &all, o.EnvironmentFlags)
	if err != nil {
		return err
	}
	if numbers == nil {
		for n := range g.Count {
			numbers = append(numbers, n)
		}
	}
	for _, n := range numbers {
		if n >= g.Count {
			return console.Usage("--gpus %s: the visible GPUs have the numbers 0 to %d", o.on.gpus, g.Count-1)
		}
		o.on.visible = append(o.on.visible, a.VisibleAs(n))
	}
	o.on.shards = len(o.on.visible)
	return nil
}

// local returns the engine of a run on several GPUs.
func (f *onFlags) local(triad string) *fleet.Local {
	return &fleet.Local{Triad: triad, GPUs: f.visible, Cores: max(1, runtime.GOMAXPROCS(0)/len(f.visible))}
}
