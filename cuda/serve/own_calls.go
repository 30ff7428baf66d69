package serve

/*
#include "include/own_calls.h"
*/
import "C"

import "unsafe"

// ownCallsName is the variable in which the library of a user's file describes its calls.
const ownCallsName = "triad_own_calls"

// OwnCalls is the record of the calls of a user's library (cuda/include/own_calls.cuh).
type OwnCalls struct{ c *C.triad_own_calls_t }

// ownCallsOf finds the record of a library's calls; nil if the library is not a user's, or runs in the
// emulator.
func ownCallsOf(handle unsafe.Pointer) *OwnCalls {
	at, err := symbol(handle, ownCallsName)
	if err != nil {
		return nil
	}
	c := (*C.triad_own_calls_t)(at)
	if uintptr(c.size) < unsafe.Sizeof(*c) {
		return nil
	}
	return &OwnCalls{c}
}

// open registers one more candidate that times these calls: their resources are kept until it is closed.
func (o *OwnCalls) open() {
	o.c.timed++
	o.c.uncaptured[0] = 0
}

func (o *OwnCalls) close() { o.c.timed-- }

// Seen counts what calls have done so far.
type Seen struct {
	Launches    int64  // of kernels
	Allocations int64  // served from kept memory, or whose memory is kept
	Limits      int64  // requests of a part of the L2 cache, not granted
	Uncaptured  string // the first call that no graph can hold; "" for none
}

// Seen returns the counts since the library was loaded.
func (o *OwnCalls) Seen() Seen {
	return Seen{
		Launches: int64(o.c.launches), Allocations: int64(o.c.allocations), Limits: int64(o.c.limits),
		Uncaptured: C.GoString(&o.c.uncaptured[0]),
	}
}
