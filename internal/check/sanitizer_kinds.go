package check

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// addressKinds maps words of AddressSanitizer to kinds, for an access by a kernel and for host code. The
// first word that a report contains decides.
var addressKinds = []struct {
	word             string
	inKernel, onHost Kind
}{
	{"double-free", DoubleFree, HostBadFree},
	{"attempting free", BadFree, HostBadFree},
	{"bad-free", BadFree, HostBadFree},
	{"dealloc-mismatch", BadFree, HostBadFree},
	{"new-delete-type-mismatch", BadFree, HostBadFree},
	{"heap-use-after-free", UseAfterFree, HostUseAfterFree},
	{"stack-use-after", UseAfterFree, HostUseAfterFree},
	{"overflow", OutOfBounds, HostOutOfBounds},
	{"underflow", OutOfBounds, HostOutOfBounds},
	{"use-after-poison", OutOfBounds, HostOutOfBounds},
	{"param-overlap", Undefined, Undefined},
	{"negative-size-param", Undefined, Undefined},
}

// undefinedKinds maps checks of UndefinedBehaviorSanitizer to kinds, in a kernel and on the host; all others
// are Undefined.
var undefinedKinds = map[string]struct{ inKernel, onHost Kind }{
	"out-of-bounds-index":       {OutOfBounds, HostOutOfBounds},
	"null-pointer-use":          {NullPointer, HostNullPointer},
	"misaligned-pointer-use":    {Misaligned, Undefined},
	"integer-divide-by-zero":    {DivisionByZero, Undefined},
	"signed-integer-overflow":   {SignedOverflow, SignedOverflow},
	"negation-overflow":         {SignedOverflow, SignedOverflow},
	"unsigned-integer-overflow": {SignedOverflow, SignedOverflow},
	"invalid-shift-exponent":    {Shift, Shift},
	"invalid-shift-base":        {Shift, Shift},
}

// findings turns reports into findings with the lines of the user's source.
func (s *Sanitized) findings(ctx context.Context, undefined []emulatorRecord,
	reports []sanitizerReport,
) ([]Finding, error) {
	var offsets []uint64
	for i := range reports {
		for _, st := range reports[i].stacks {
			for _, f := range st.frames {
				if f.module == s.Program {
					offsets = append(offsets, f.offset)
				}
			}
		}
	}
	for i := range undefined {
		offsets = append(offsets, undefined[i].offsets()...)
	}
	slices.Sort(offsets)
	lines, err := s.Locate(ctx, slices.Compact(offsets))
	if err != nil {
		return nil, err
	}
	var all []Finding
	for i := range undefined {
		all = append(all, undefined[i].finding(lines))
	}
	direct := slices.ContainsFunc(reports, func(r sanitizerReport) bool { return r.match(leakLine) != nil })
	for i := range reports {
		r := placed{&reports[i], s.Program, lines}
		switch reports[i].tool {
		case "Leak":
			if direct {
				all = append(all, r.leaks()...)
			}
		case "Thread":
			if reports[i].hasEmulatorRecord() {
				if f := r.ofThreads(); f.Kind != Race || r.where.Cluster > 1 {
					all = append(all, f)
				}
			} else if len(all) == 0 { // a signal, which AddressSanitizer reports better
				all = append(all, r.ofAddress("thread"))
			}
		default:
			all = append(all, r.ofAddress("address"))
		}
	}
	return all, nil
}

// offsets parses the offsets of the stack.
func (b *emulatorRecord) offsets() []uint64 {
	var all []uint64
	for _, word := range strings.Fields(b.Stack) {
		if n, err := strconv.ParseUint(word, 10, 64); err == nil {
			all = append(all, n)
		}
	}
	return all
}

// finding converts a report of UndefinedBehaviorSanitizer. A mistake inside a header that is not the user's
// is placed at the line that calls it.
func (b *emulatorRecord) finding(lines map[uint64]Place) Finding {
	f := b.Finding
	f.Sanitizer, f.Kind = "undefined", Undefined
	if f.Message != "" {
		f.Message = strings.ToLower(f.Message[:1]) + f.Message[1:]
	}
	f.Message = strings.TrimPrefix(f.Message, "signed integer overflow: ")
	if kinds, known := undefinedKinds[f.Check]; known {
		f.Kind = kinds.onHost
		if f.Block != nil {
			f.Kind = kinds.inKernel
		}
	}
	var first *Place
	for _, at := range b.offsets() {
		line, own := lines[at]
		if !own {
			continue
		}
		if f.Place.known() && line.File == f.Place.File {
			return f
		}
		if first == nil {
			first = &line
		}
	}
	if first != nil {
		if f.Place.known() {
			f.Message += fmt.Sprintf(" (at %s:%d)", f.Place.File, f.Place.Line)
		}
		f.Place = first
	}
	return f
}

// placed is a report with the resolved lines of its addresses.
type placed struct {
	*sanitizerReport
	program string
	places  map[uint64]Place
}

// place returns the innermost line of a stack in the user's source; nil if it has none.
func (r placed) place(st *stack) *Place {
	if st == nil {
		return nil
	}
	for _, f := range st.frames {
		if line, own := r.places[f.offset]; own && f.module == r.program {
			return &line
		}
	}
	return nil
}

func (r placed) first() *stack {
	if len(r.stacks) == 0 {
		return nil
	}
	return &r.stacks[0]
}

// started returns a finding with the kernel, block and thread of a report.
func (r placed) started(sanitizer string) Finding {
	f := Finding{Sanitizer: sanitizer, Check: r.word(), Place: r.place(r.first())}
	if r.where != nil {
		f.Kernel, f.Launched = r.where.Kernel, r.where.Launched
		f.Block, f.Thread = r.where.Block, r.where.Thread
	}
	return f
}

// ofAddress converts a report of AddressSanitizer, or of another sanitizer about a signal.
func (r placed) ofAddress(sanitizer string) Finding {
	f := r.started(sanitizer)
	r.describe(&f, r.onDevice)
	f.Allocated, f.Freed = r.place(r.stackUnder("allocated by")), r.place(r.stackUnder("freed by"))
	if m := r.match(variable); m != nil && m[4] != "" {
		if at := r.place(r.stackUnder("is located in stack of")); at != nil {
			f.Declared = &Place{File: at.File, Line: int(number(m[4], 10))}
		}
	}
	pick := func(inKernel, onHost Kind) Kind {
		if f.Block != nil {
			return inKernel
		}
		return onHost
	}
	if m := r.match(badAddress); m != nil {
		f.Kind = pick(OutOfBounds, HostCrash)
		f.Message = "address 0x" + m[1] + " is nobody's"
		if m[1] != "" && number(m[1], 16) < 4096 {
			f.Kind, f.Message = pick(NullPointer, HostNullPointer), ""
		}
		if !r.says("SEGV", "BUS") {
			f.Kind, f.Message = pick(Trap, HostCrash), r.word()
		}
		return f
	}
	for _, k := range addressKinds {
		if r.says(k.word) {
			f.Kind = pick(k.inKernel, k.onHost)
			f.Message = r.message(&f)
			return f
		}
	}
	f.Kind, f.Message = Undefined, r.words
	return f
}

// message describes what the fields of a finding, such as the memory of an access, do not say.
func (r placed) message(f *Finding) string {
	switch {
	case r.says("stack-overflow"):
		return "the stack has no more room: a recursion without end, or an array too large for it"
	case r.says("dealloc-mismatch", "new-delete-type-mismatch"):
		asked, given, _ := strings.Cut(strings.Trim(parenthesised.FindString(r.words), "()"), " vs ")
		if given != "" {
			return fmt.Sprintf("%s gave it, and %s gives it back", asked, given)
		}
	case r.says("attempting free"):
		return "no malloc or new gave this pointer"
	case r.says("stack-use-after"):
		return "the variable's block or function has ended"
	case f.Memory == "" || f.Kind == Undefined:
		return r.words
	}
	return ""
}

// onDevice reports whether a stack is that of cudaMalloc: the emulator's library allocated the memory.
func (r placed) onDevice(st *stack) bool {
	for _, f := range st.frames {
		if strings.HasPrefix(filepath.Base(f.module), "libemulator") {
			return true
		}
		if f.module == r.program {
			return false
		}
	}
	return false
}

// leaks returns the leaks of host memory, one for each allocating line. The emulator reports those of
// cudaMalloc.
func (r placed) leaks() []Finding {
	var all []Finding
	for i := range r.stacks {
		m := leakLine.FindStringSubmatch(r.stacks[i].heading)
		if m == nil || m[1] != "Direct" || r.onDevice(&r.stacks[i]) {
			continue
		}
		f := Finding{Kind: HostLeak, Sanitizer: "address", Check: "leak", Place: r.place(&r.stacks[i])}
		f.Message = fmt.Sprintf("%s bytes, asked for %s times", m[2], m[3])
		if m[3] == "1" {
			f.Message = m[2] + " bytes"
		}
		all = append(all, f)
	}
	return all
}

// ofThreads converts a report of ThreadSanitizer. Races between threads of a kernel are left to the emulator,
// which knows fences, flags and writes that change nothing, except in launches with clusters, which it does
// not watch.
func (r placed) ofThreads() Finding {
	f := r.started("thread")
	f.Kind = HostLocks
	f.Message = r.word()
	if r.says("free") {
		f.Kind, f.Message = HostUseAfterFree, ""
	}
	if !r.says("data race", "race on") || len(r.stacks) < 2 {
		f.Other = r.otherLock(f.Place)
		return f
	}
	f.Kind, f.Message = HostRace, "two threads of the host"
	named := map[string]int{}
	for _, line := range r.lines {
		if m := namedThread.FindStringSubmatch(line); m != nil {
			named[m[1]] = int(number(m[2], 10))
		}
	}
	if a := accessLine.FindStringSubmatch(r.stacks[0].heading); a != nil {
		f.Access, f.Bytes = strings.ToLower(a[1]), number(a[2], 10)
	}
	f.Other = r.place(&r.stacks[1])
	b := accessLine.FindStringSubmatch(r.stacks[1].heading)
	if b == nil {
		return f
	}
	f.OtherAccess = strings.ToLower(b[1])
	if t, ours := named[threadName.FindString(b[3])]; ours && f.Block != nil {
		f.Kind, f.Message = Race, ""
		if d := r.where.BlockDim; d[0]*d[1] > 0 {
			f.OtherThread = &[3]int{t % d[0], t / d[0] % d[1], t / d[0] / d[1]}
		}
	} else if f.Block != nil {
		f.Message = "a kernel and a thread of the host"
	}
	return f
}

// otherLock returns the line that takes the second of two locks while the first is held, for a lock-order
// inversion.
func (r placed) otherLock(first *Place) *Place {
	for i := range r.stacks {
		at, held := r.place(&r.stacks[i]), strings.Contains(r.stacks[i].heading, "while holding")
		if at != nil && first.known() && *at != *first && held {
			return at
		}
	}
	return nil
}
