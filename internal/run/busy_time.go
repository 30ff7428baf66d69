package run

import "time"

// overlapping measures how long at least one of several intervals lasted. A case that waits for a core that
// another one uses adds nothing.
type overlapping struct {
	running int
	since   time.Time // when the first of those that run began
	ended   time.Duration
}

func (o *overlapping) begin(now time.Time) {
	if o.running == 0 {
		o.since = now
	}
	o.running++
}

func (o *overlapping) end(now time.Time) {
	if o.running--; o.running == 0 {
		o.ended += now.Sub(o.since)
	}
}

func (o *overlapping) total(now time.Time) time.Duration {
	if o.running > 0 {
		return o.ended + now.Sub(o.since)
	}
	return o.ended
}

// intervals measures the time of each implementation's cases, by its name. The zero value is ready to use.
type intervals map[string]*overlapping

func (i *intervals) of(impl string) *overlapping {
	if *i == nil {
		*i = intervals{}
	}
	if (*i)[impl] == nil {
		(*i)[impl] = &overlapping{}
	}
	return (*i)[impl]
}
