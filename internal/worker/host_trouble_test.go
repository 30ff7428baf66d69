package worker

import (
	"context"
	"errors"
	"testing"
	"time"

	"triad/internal/backend"
	"triad/internal/op"
)

// The end of a worker while it starts or loads: one that was killed twice proves nothing about what it
// loaded, one killed once is tried again, and all others are the fault of what they load.
func TestLostWhileLoading(t *testing.T) {
	for mode, want := range map[string]op.Status{
		"is killed before hello": op.StatusInterrupted, "is killed while loading": op.StatusInterrupted,
		"has no room to build": op.StatusInterrupted, "is killed once while loading": op.StatusUnknown,
		"dies while loading": op.StatusCrash, "hangs while loading": op.StatusHang,
		"dies before hello": op.StatusUnavailable,
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			a := fakeAdapter(t, mode, func(o *Options) {
				if mode == "hangs while loading" {
					o.Limits.Build = 300 * time.Millisecond
				}
			})
			command, folder := a.Command, t.TempDir()
			a.Command = func(ctx context.Context) (Command, error) {
				c, err := command(ctx)
				c.Env = append(c.Env, "FAKE_LOADED="+folder)
				return c, err
			}
			_, _, err := a.Load(t.Context(), "copy")
			var trouble *backend.HostTrouble
			var broken *backend.BuildFailure
			var missing *backend.Unavailable
			got := op.StatusUnknown
			switch {
			case errors.As(err, &trouble):
				got = op.StatusInterrupted
			case errors.As(err, &broken):
				got = broken.Verdict()
			case errors.As(err, &missing):
				got = op.StatusUnavailable
			case err != nil:
				t.Fatal(err)
			}
			if got != want {
				t.Errorf("%v (%v), want %v", got, err, want)
			}
		})
	}
}
