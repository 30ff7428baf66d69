package worker

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Doing knows what the workers of a command are asked at the moment, and until when they may take: what a person who interrupts waits for. The
// zero value and nil are ready; nil knows nothing.
type Doing struct {
	mu  sync.Mutex
	now []*task
}

type task struct {
	what  string
	until time.Time
}

// begin notes what is being done, for so long at most, until done is called.
func (d *Doing) begin(what string, atMost time.Duration) (done func()) {
	if d == nil {
		return func() {}
	}
	t := &task{what, time.Now().Add(atMost)}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now = append(d.now, t)
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.now = slices.DeleteFunc(d.now, func(other *task) bool { return other == t })
	}
}

// String lists what is being done, in the order of its beginning, and how long the last of it may take: "mine/a, loading mine/b, at most 2m0s".
func (d *Doing) String() string {
	if d == nil {
		return ""
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var words []string
	var last time.Time
	for _, t := range d.now {
		if !slices.Contains(words, t.what) {
			words = append(words, t.what)
		}
		if t.until.After(last) {
			last = t.until
		}
	}
	if len(words) == 0 {
		return ""
	}
	return fmt.Sprintf("%s, at most %v", strings.Join(words, ", "), max(time.Until(last), 0).Truncate(time.Second)+time.Second)
}
