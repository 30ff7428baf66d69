package runsetup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"triad/internal/backend"
	"triad/internal/machine"
	"triad/internal/ownfile/added"
	"triad/internal/report"
	"triad/internal/run"
	"triad/internal/truth"
	"triad/internal/worker"
)

// needed returns the families of a backend without the optional ones: those are not reported as missing.
func needed(b backend.Backend) []string {
	optional, _ := backend.As[run.Optional](b)
	return slices.DeleteFunc(slices.Clone(b.Families()), func(family string) bool {
		return optional != nil && slices.Contains(optional.OptionalFamilies(), family)
	})
}

// Declarations asks the backends for their implementations. It fetches nothing: if Python is missing, its
// rows are left out.
func (a *Setup) Declarations(ctx context.Context, operator *truth.Operator) ([]report.ImplementationDetail,
	error,
) {
	g, err := a.ChooseGPU(ctx, &machine.DeviceFlags{Device: "auto", GPU: -1},
		machine.EnvironmentFlags{Offline: true, Look: true})
	if err != nil {
		return nil, err
	}
	name := operator.Spec.Name
	request := run.Request{Operators: []*truth.Operator{operator}}
	backends, _, refused, err := a.Participants(ctx, &added.Flags{}, &request, g, machine.EnvironmentFlags{
		Offline: true,
		Look:    true,
	}, worker.Options{})
	if err != nil {
		return nil, err
	}
	for _, why := range refused {
		fmt.Fprintf(a.Err, "triad: %v\n", why)
	}
	var out []report.ImplementationDetail
	for _, b := range backends {
		reply, _, err := b.Load(ctx, name)
		var missing *backend.Unavailable
		var broken *backend.BuildFailure
		switch {
		case errors.As(err, &missing), errors.As(err, &broken):
			fmt.Fprintf(a.Err, "triad: the implementations of %s are not listed: %v\n",
				strings.Join(needed(b), " and "), err)
		case err != nil:
			return nil, errors.Join(err, b.Close())
		}
		for _, f := range reply.Failed {
			if family, _, _ := strings.Cut(f.Implementation, "/"); !slices.Contains(needed(b), family) {
				continue
			}
			fmt.Fprintf(a.Err, "triad: %s is not listed: %s\n", f.Implementation, f.Message)
		}
		for _, i := range reply.Implementations {
			out = append(out, report.ImplementationDetail{
				Name: i.Name, Pass: i.Pass.String(), DTypes: i.DTypes, Contract: i.Contract, Device: i.Device,
				Constraint: i.Constraint,
			})
		}
		if err := b.Close(); err != nil {
			return nil, err
		}
	}
	return out, nil
}
