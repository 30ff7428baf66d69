package fleetrun

import (
	"context"
	"runtime"

	"triad/internal/console"
	"triad/internal/fleet"
	"triad/internal/machine"
	"triad/internal/rownames"
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

// spread adds to a plan for several GPUs the shard that has all of them: that of the operators with an
// implementation that is asked for and spread over two. Where there is no other operator, it is the only
// shard.
func (r *onFleet) spread(plan *fleet.Plan) {
	if !plan.Claimed || len(r.o.On.Visible) < 2 {
		return
	}
	for _, o := range r.request.Operators {
		if len(rownames.Spread(r.Files, o.Spec.Name, r.request.Impls)) > 0 {
			plan.Spread = append(plan.Spread, o.Spec.Name)
		}
	}
	if len(plan.Spread) == len(r.request.Operators) {
		plan.Shards = 0
	}
	if len(plan.Spread) > 0 {
		plan.Shards++
	}
	r.o.On.Shards = plan.Shards
}

// localEngine returns the engine of a run on several GPUs.
func localEngine(f *runsetup.OnFlags, triad string, spread int) *fleet.Local {
	return &fleet.Local{
		Triad: triad, GPUs: f.Visible, Cores: max(1, runtime.GOMAXPROCS(0)/len(f.Visible)), Spread: spread,
	}
}
