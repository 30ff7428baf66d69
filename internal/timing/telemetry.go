package timing

import (
	"context"
	"time"

	"triad/internal/panics"
)

// Reading is one look at the card; a number that is not known is 0.
type Reading struct {
	ClockMHz, PowerW, TemperatureC float64
	Throttle                       uint64
}

// Telemetry looks at the card. It changes nothing.
type Telemetry interface{ Read() Reading }

// Several is the telemetry of several cards: Read looks at the first, which calls on one GPU use.
type Several interface {
	Telemetry
	ReadAll() Reading // the lowest clock, the highest power and temperature, and every throttle reason
}

// watchEvery is the interval between two readings of the card during a measurement.
const watchEvery = 2 * time.Millisecond

// watch reads the card, or all cards for a call on several devices, until the returned function is called,
// which returns the means. A reading after the measurement would be useless: the clock is back at its
// highest.
func (t *Timer) watch(devices int) (seen func() (Reading, error)) {
	if t.Telemetry == nil {
		return func() (Reading, error) { return Reading{}, nil }
	}
	read := t.Telemetry.Read
	if all, several := t.Telemetry.(Several); several && devices > 1 {
		read = all.ReadAll
	}
	stop, result := make(chan struct{}), make(chan Reading, 1)
	var watching panics.Group
	watching.Go(func() {
		var sum Reading
		n := 0.0
		for {
			r := read()
			sum.ClockMHz, sum.PowerW = sum.ClockMHz+r.ClockMHz, sum.PowerW+r.PowerW
			sum.TemperatureC += r.TemperatureC
			sum.Throttle |= r.Throttle
			n++
			select {
			case <-stop:
				result <- Reading{
					ClockMHz: sum.ClockMHz / n, PowerW: sum.PowerW / n,
					TemperatureC: sum.TemperatureC / n, Throttle: sum.Throttle,
				}
				return
			case <-time.After(watchEvery):
			}
		}
	})
	return func() (Reading, error) {
		close(stop)
		if err := watching.Wait(); err != nil {
			return Reading{}, err
		}
		return <-result, nil
	}
}

// rest waits, with nothing queued on the card.
func (t *Timer) rest(ctx context.Context, d time.Duration) {
	if t.Rest != nil {
		t.Rest(ctx, d)
		return
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
