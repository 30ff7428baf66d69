// Package gradcheck is the verb gradcheck.
package gradcheck

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"triad/cmd/triad/flags"
	"triad/internal/console"
	"triad/internal/fleetrun"
	"triad/internal/run"
	"triad/internal/runsetup"
	"triad/internal/truth"
)

// verb runs triad gradcheck.
type verb struct {
	*runsetup.Setup
	judge Judge
}

// Judge judges a request, records and prints the results.
type Judge func(context.Context, run.Request, *runsetup.Options) error

// New returns the command triad gradcheck.
func New(s *runsetup.Setup, judge Judge) *cobra.Command {
	a := &verb{s, judge}
	o := runsetup.Options{Verb: "gradcheck"}
	cmd := &cobra.Command{
		Use:   "gradcheck OP...",
		Short: "judge every gradient of an operator",
		Long: `gradcheck judges every gradient of every implementation of one operator, of several, or of
all, element by element: behind saved tensors that triad makes and behind the implementation's own forward,
with ordinary, one-hot, zero and huge upstream gradients in every memory layout, expanded as the backward of
a sum gives them too. It takes the flags of compare. Beyond compare it

  * proves the truth: the closed form of every gradient against the complex step of a plain forward;
  * launches one moderate case of each implementation and dtype 5 times, 250 times with --full: the bits may
    vary only where that is declared, and every launch is judged;
  * lets functions that go through torch's autograd compute each gradient alone.`,
		Example: `  triad gradcheck softmax
  triad gradcheck flash_attention --impl cuda --dtype bf16 --attr causal=true
  triad gradcheck all --quick --json`,
		RunE: func(cmd *cobra.Command, names []string) error {
			o.Args = os.Args[min(1, len(os.Args)):]
			return a.gradcheck(cmd.Context(), names, &o)
		},
	}
	flags.Run(cmd, &o, "backward")
	flags.Plan(cmd, &o)
	flags.Shard(cmd, &o)
	flags.On(cmd, &o.On)
	return cmd
}

// gradcheck is compare for backwards, with the additional checks of gradients.
func (a *verb) gradcheck(ctx context.Context, names []string, o *runsetup.Options) error {
	if o.Pass != "backward" {
		return console.Usage("gradcheck judges backwards: --pass %s is what triad compare does", o.Pass)
	}
	if err := o.CheckPlan(); err != nil {
		return err
	}
	if err := o.Own.Expand(a.In, a.PartRoot); err != nil {
		return err
	}
	request, err := o.Request(a.Files, names)
	if err != nil {
		return err
	}
	if request.Operators, err = withBackward(request.Operators, len(names) == 1 &&
		names[0] == "all"); err != nil {
		return err
	}
	request.Gradients = true
	if o.On.Apart() {
		return fleetrun.Compare(ctx, a.Setup, request, o)
	}
	return a.judge(ctx, request, o)
}

// withBackward refuses an operator without a backward, or leaves it out if all operators were requested.
func withBackward(operators []*truth.Operator, all bool) ([]*truth.Operator, error) {
	var kept []*truth.Operator
	for _, o := range operators {
		if o.Spec.Backward != nil {
			kept = append(kept, o)
		} else if !all {
			return nil,
				console.Usage("%s has no backward: there is no gradient to check (triad compare %s judges "+
					"its forward)", o.Spec.Name, o.Spec.Name)
		}
	}
	if len(kept) == 0 {
		return nil, console.Usage("no operator has a backward: there is no gradient to check")
	}
	return kept, nil
}
