// Package observed holds what the main() of a user's CUDA file did when it ran to be observed, as plain data.
package observed

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Run holds the actions of a program, in order. Its memory is numbered in the order of its allocations.
type Run struct {
	Events []Event
	Memory []Memory
}

// Event is one of these.
type Event struct {
	Memory *Memory `json:"memory"`
	Copy   *Copy   `json:"copy"`
	Fill   *Copy   `json:"fill"`
	Launch *Launch `json:"launch"`
	Shared int64   `json:"shared"` // the shared memory in bytes that a kernel is allowed
}

// Memory is an allocation on the device.
type Memory struct {
	Bytes   int64 `json:"bytes"`
	Managed bool  `json:"managed"`
}

// Place is an address in memory. Memory is -1 outside the device's.
type Place struct {
	Memory int   `json:"memory"`
	Offset int64 `json:"offset"`
}

// Copy is a copy, or a fill with a value.
type Copy struct {
	To    Place `json:"to"`
	From  Place `json:"from"`
	Value int   `json:"value"`
	Bytes int64 `json:"bytes"`
}

// Launch is a launch of a kernel.
type Launch struct {
	Kernel    string     `json:"kernel"` // with its template arguments
	Line      int        `json:"line"`
	Grid      [3]int64   `json:"grid"`
	Block     [3]int64   `json:"block"`
	Shared    int64      `json:"shared"` // bytes of dynamic shared memory
	Arguments []Argument `json:"arguments"`
}

// The kinds of arguments.
const (
	Pointer = "p"
	Whole   = "i"
	Real    = "f"
)

// IsKnown reports whether the value of an argument was recorded. That of a struct is not.
func (a *Argument) IsKnown() bool { return a.Kind == Pointer || a.Kind == Whole || a.Kind == Real }

// Argument is the value of a kernel's parameter.
type Argument struct {
	Kind     string `json:"kind"`
	Constant bool   `json:"constant"` // a pointer to const
	Bytes    int64  `json:"bytes"`    // of an element of a pointer, else of the argument
	Place    Place  `json:"place"`
	Whole    int64  `json:"whole"`
	Real     string `json:"real"`
}

// Add adds one line that the program wrote.
func (r *Run) Add(line []byte) error {
	var e Event
	if err := json.Unmarshal(line, &e); err != nil {
		return fmt.Errorf("read what the program did: %w", err)
	}
	if e.Memory != nil {
		r.Memory = append(r.Memory, *e.Memory)
	}
	if e.Launch != nil {
		for i := range e.Launch.Arguments {
			if a := &e.Launch.Arguments[i]; a.Kind == Pointer && a.Place.Memory >= len(r.Memory) {
				return fmt.Errorf("read what the program did: there is no memory %d", a.Place.Memory)
			}
		}
	}
	r.Events = append(r.Events, e)
	return nil
}

// Name returns the kernel's name without namespaces and template arguments.
func (l *Launch) Name() string {
	name, _, _ := strings.Cut(l.Kernel, "<")
	return strings.TrimSpace(name[strings.LastIndex(name, ":")+1:])
}

// Template returns the template arguments of the kernel, numbers by their values.
func (l *Launch) Template() []string {
	_, words, found := strings.Cut(strings.TrimSuffix(l.Kernel, ">"), "<")
	if !found {
		return nil
	}
	return strings.Split(words, ", ")
}

// FirstLaunch returns the first launch of a kernel with so many parameters, or nil.
func (r *Run) FirstLaunch(kernel string, parameters int) *Launch {
	for _, e := range r.Events {
		if e.Launch != nil && e.Launch.Name() == kernel && len(e.Launch.Arguments) == parameters {
			return e.Launch
		}
	}
	return nil
}

// Launches reports whether the program launches a kernel.
func (r *Run) Launches() bool {
	return slices.ContainsFunc(r.Events, func(e Event) bool { return e.Launch != nil })
}

// Room returns the bytes that a pointer points to, 0 if it does not point to the device's memory.
func (r *Run) Room(a Argument) int64 {
	if a.Kind != Pointer || a.Place.Memory < 0 {
		return 0
	}
	return r.Memory[a.Place.Memory].Bytes - a.Place.Offset
}

// Shared returns the most shared memory that the program allowed its kernels, 0 for the usual.
func (r *Run) Shared() int64 {
	return slices.MaxFunc(append(slices.Clone(r.Events), Event{}), func(a, b Event) int {
		return int(a.Shared - b.Shared)
	}).Shared
}
