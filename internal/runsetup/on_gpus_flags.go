package runsetup

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"triad/internal/console"
)

// Apart reports whether the run is handed to other processes: on other machines, or one a GPU.
func (f *OnFlags) Apart() bool { return f.Engine != "" || f.Gpus != "" }

// Words returns the words that name where a run is, by which --resume finds an interrupted one.
func (f *OnFlags) Words() []string {
	if f.Gpus != "" {
		return []string{"gpus", strings.Join(f.Visible, ",")}
	}
	return []string{"on", f.Engine, strconv.Itoa(f.Shards)}
}

// Every returns the longest time between two looks of the driver at its tasks; 0: the default.
func (f *OnFlags) Every() time.Duration {
	if f.Gpus != "" {
		return time.Second / 2
	}
	return 0
}

// checkGPUs rejects flags that choose other GPUs than --gpus.
func (o *Options) checkGPUs() error {
	switch f := &o.On; {
	case f.Engine != "":
		return console.Usage(
			"--on %s and --gpus %s exclude each other: a task has the GPU that its cluster gives it",
			f.Engine, f.Gpus)
	case o.GPU >= 0 || o.Device == "cpu":
		return console.Usage("--gpus %s says where the plan is run: --gpu and --device cpu exclude it",
			f.Gpus)
	case f.Given.Changed("shards") || f.Slurm != "" || f.Parts != "":
		return console.Usage(
			"--gpus %s runs on this machine: --shards, --slurm and --parts are flags of --on",
			f.Gpus,
		)
	}
	_, err := NumbersOf(o.On.Gpus)
	return err
}

// NumbersOf parses the numbers of --gpus; none for all.
func NumbersOf(text string) (numbers []int, err error) {
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
