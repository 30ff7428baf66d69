package doctor

import (
	"context"
	"errors"

	"triad/internal/doctor"
	"triad/internal/machine"
	"triad/internal/report"
	"triad/internal/timing"
)

// clockFindings times one copy through both workers.
func (a *verb) clockFindings(ctx context.Context) []report.Finding {
	const subject = "clocks"
	f, e := machine.DeviceFlags{Device: "gpu", GPU: -1}, machine.EnvironmentFlags{Offline: true}
	options, err := machine.Options(nil)
	if err != nil {
		return []report.Finding{{Subject: subject, State: "broken", Detail: err.Error()}}
	}
	onGPU, err := a.ChooseGPU(ctx, &f, e)
	if err != nil || onGPU == nil {
		return nil // another line gives the reason
	}
	backends, err := a.Backends(onGPU, e, options)
	if err != nil {
		return []report.Finding{{Subject: subject, State: "broken", Detail: err.Error()}}
	}
	clocks, err := timing.Clocks(ctx, backends)
	for _, b := range backends {
		err = errors.Join(err, b.Close())
	}
	if err != nil {
		return []report.Finding{{Subject: subject, State: "broken", Detail: err.Error()}}
	}
	return []report.Finding{doctor.ClocksFinding(subject, clocks)}
}
