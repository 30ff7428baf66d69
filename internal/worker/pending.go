package worker

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Pending lists the requests in flight and their deadlines; Ctrl-C prints them. The zero value is ready, and
// nil lists nothing.
type Pending struct {
	mu  sync.Mutex
	all []*request
}

// request is a request in flight: its description and its deadline.
type request struct {
	what     string
	deadline time.Time
}

// begin lists a request, which may take so long at most, until done is called.
func (p *Pending) begin(what string, atMost time.Duration) (done func()) {
	if p == nil {
		return func() {}
	}
	r := &request{what, time.Now().Add(atMost)}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, r)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.all = slices.DeleteFunc(p.all, func(other *request) bool { return other == r })
	}
}

// String lists the requests in the order in which they began, and how long the last may take: "mine/a,
// loading mine/b, at most 2m0s".
func (p *Pending) String() string {
	if p == nil {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var words []string
	var last time.Time
	for _, r := range p.all {
		if !slices.Contains(words, r.what) {
			words = append(words, r.what)
		}
		if r.deadline.After(last) {
			last = r.deadline
		}
	}
	if len(words) == 0 {
		return ""
	}
	return fmt.Sprintf("%s, at most %v", strings.Join(words, ", "),
		max(time.Until(last), 0).Truncate(time.Second)+time.Second)
}
