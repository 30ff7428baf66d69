// Package doctor is the verb doctor.
package doctor

import (
	"context"

	"github.com/spf13/cobra"

	"triad/internal/doctor"
	"triad/internal/machine"
	"triad/internal/report"
)

// Options holds the flags of doctor.
type Options struct {
	asJSON bool
	limits []string
}

// verb runs triad doctor.
type verb struct{ *machine.Workers }

// New returns the command triad doctor; run replaces what it does, nil: it examines this machine.
func New(w *machine.Workers, run func(context.Context, *Options) error) *cobra.Command {
	var o Options
	if run == nil {
		run = (&verb{w}).doctor
	}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "what was found on this machine, what is missing, how to get it",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), &o) },
	}
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "one JSON object a line")
	cmd.Flags().StringArrayVar(&o.limits, "limit", nil, "a deadline, NAME=DURATION, as compare takes it")
	return cmd
}

// doctor prints what it found.
func (a *verb) doctor(ctx context.Context, o *Options) error {
	options, err := machine.Options(o.limits)
	if err != nil {
		return err
	}
	findings, err := doctor.Examine(ctx, a.Workers, options.Limits)
	if err != nil {
		return err
	}
	if !o.asJSON {
		return report.Doctor(a.Out, a.Style(), findings)
	}
	return report.JSONLines(a.Out, findings)
}
