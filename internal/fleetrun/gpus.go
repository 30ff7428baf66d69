package fleetrun

import (
	"context"
	"runtime"

	"triad/internal/console"
	"triad/internal/fleet"
	"triad/internal/machine"
	"triad/internal/runsetup"
)

// chooseGPUs finds the GPUs that --gpus names: a shard of the plan for each.
func (a *verb) chooseGPUs(ctx context.Context, o *runsetup.Options) error {
	if o.On.Gpus == "" {
		return nil
	}
	numbers, err := runsetup.NumbersOf(o.On.Gpus)
	if err != nil {
		return err
	}
	all := machine.DeviceFlags{Device: "gpu", GPU: -1}
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
			return console.Usage("--gpus %s: the visible GPUs have the numbers 0 to %d", o.On.Gpus, g.Count-1)
		}
		o.On.Visible = append(o.On.Visible, a.VisibleAs(n))
	}
	o.On.Shards = len(o.On.Visible)
	return nil
}

// localEngine returns the engine of a run on several GPUs.
func localEngine(f *runsetup.OnFlags, triad string) *fleet.Local {
	return &fleet.Local{Triad: triad, GPUs: f.Visible, Cores: max(1, runtime.GOMAXPROCS(0)/len(f.Visible))}
}
