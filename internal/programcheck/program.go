package programcheck

import (
	"context"
	"time"

	"triad/internal/check"
	"triad/internal/machine"
)

// Program checks a program in the emulator and prints the findings. After all it leaves out orders.
func Program(ctx context.Context, w *machine.Workers, file string, all time.Duration) (*check.Report, error) {
	o := Options{Device: "cpu"}
	if err := o.deadlines(); err != nil {
		return nil, err
	}
	o.All = all
	found, err := (&checker{w}).found(ctx, file, nil, nil, &o)
	if err == nil {
		err = check.Write(w.Out, found, check.WorkingFolder(), false)
	}
	return found, err
}
