// Package check runs a CUDA program of the user in the emulator, in several schedule orders, and reports what
// is wrong with it: each finding with its source lines, what it means and how to fix it. It builds nothing
// and knows no operator: cuda.Builder builds the program, and triad's judge takes no part.
package check

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
)

// Place is a line of a source file. For an address of the program, Offset is set until Locate has resolved
// it.
type Place struct {
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Offset uint64 `json:"offset,omitempty"`
}

// known reports whether p has a line.
func (p *Place) known() bool { return p != nil && p.Line > 0 }

// Finding is one mistake. Fields that do not apply are empty.
type Finding struct {
	Kind     Kind    `json:"kind"`
	Kernel   string  `json:"kernel,omitempty"`
	Launched *Place  `json:"launched,omitempty"`
	Block    *[3]int `json:"block,omitempty"`
	Thread   *[3]int `json:"thread,omitempty"`
	Place    *Place  `json:"place,omitempty"`
	Access   string  `json:"access,omitempty"` // read, write, atomic, copy
	Bytes    int64   `json:"bytes,omitempty"`  // of the access

	Memory      string `json:"memory,omitempty"`       // which: "device memory", "shared memory" ...
	Byte        int64  `json:"byte,omitempty"`         // of the access, from the memory's start
	MemoryBytes int64  `json:"memory_bytes,omitempty"` // of the whole
	Allocated   *Place `json:"allocated,omitempty"`
	Declared    *Place `json:"declared,omitempty"`
	Freed       *Place `json:"freed,omitempty"`
	Value       *int64 `json:"value,omitempty"` // the bits at that moment

	Scope       string  `json:"scope,omitempty"` // of a race: warp, block or blocks
	Other       *Place  `json:"other,omitempty"` // the second side
	OtherOffset uint64  `json:"other_offset,omitempty"`
	OtherAccess string  `json:"other_access,omitempty"`
	OtherBlock  *[3]int `json:"other_block,omitempty"`
	OtherThread *[3]int `json:"other_thread,omitempty"`

	Sanitizer string `json:"sanitizer,omitempty"` // that reported it: address, undefined or thread
	Check     string `json:"check,omitempty"`     // and its name for it, such as heap-use-after-free

	Message string   `json:"message,omitempty"` // details in words
	Call    string   `json:"call,omitempty"`    // the first of several calls that showed it
	Orders  []string `json:"orders,omitempty"`  // the schedule orders in which it showed
}

// same reports whether two findings have the same kind and the same places.
func (f *Finding) same(g *Finding) bool {
	at := func(p *Place) Place {
		if p == nil {
			return Place{}
		}
		return Place{File: p.File, Line: p.Line}
	}
	if f.Kind != g.Kind {
		return false
	}
	a, b, c, d := at(f.Place), at(f.Other), at(g.Place), at(g.Other)
	return a == c && b == d || f.Other.known() && a == d && b == c
}

// readFindings reads the lines that the emulator wrote and counts all others. The program inherits the file,
// so the emulator's lines begin with a key that the program does not get. The last line may be cut off if the
// program was killed.
func readFindings(r io.Reader, key string) (all []Finding, foreign int, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var f Finding
		line := lines.Bytes()
		if key != "" {
			own := false
			if line, own = bytes.CutPrefix(line, []byte(key+" ")); !own {
				foreign++
				continue
			}
		}
		if err := json.Unmarshal(line, &f); err != nil {
			continue
		}
		if f.OtherOffset != 0 {
			f.Other, f.OtherOffset = &Place{Offset: f.OtherOffset}, 0
		}
		all = append(all, f)
	}
	if err := lines.Err(); err != nil {
		return nil, foreign, fmt.Errorf("read the findings of the program: %w", err)
	}
	return all, foreign, nil
}

// places returns all places of a finding.
func (f *Finding) places() []*Place {
	var all []*Place
	for _, p := range []*Place{f.Place, f.Other, f.Launched, f.Allocated, f.Declared, f.Freed} {
		if p != nil {
			all = append(all, p)
		}
	}
	return all
}

// valueText formats the value in each form that may be meant.
func (f *Finding) valueText() string {
	if f.Value == nil || f.Bytes < 1 || f.Bytes > 8 {
		return ""
	}
	bits := uint64(*f.Value)
	text := fmt.Sprintf("0x%0*x", 2*int(f.Bytes), bits)
	switch f.Bytes {
	case 4:
		text += fmt.Sprintf(" (int %d, float %g)", int32(bits), math.Float32frombits(uint32(bits)))
	case 8:
		text += fmt.Sprintf(" (int %d, double %g)", int64(bits), math.Float64frombits(bits))
	default:
		text += fmt.Sprintf(" (%d)", bits)
	}
	return text
}

// about returns the explanation of the finding's kind; a race inside one warp has its own.
func (f *Finding) about() about {
	a := f.Kind.about()
	if f.Kind == Race && f.Scope == "warp" {
		a.means, a.mend = ofOneWarp.means, ofOneWarp.mend
	}
	return a
}

// Sentence describes the finding in one line, without its places.
func (f *Finding) Sentence() string {
	title := f.Kind.about().title
	if f.Kind == Race {
		return title + map[string]string{
			"warp": " of one warp", "block": " of one block", "blocks": " of different blocks",
		}[f.Scope] + " use " + f.memory() + " at the same time"
	}
	if f.Message != "" {
		return title + ": " + f.Message
	}
	if f.Memory != "" {
		return title + ", " + f.where()
	}
	return title
}

// memory names the memory of an access.
func (f *Finding) memory() string {
	if f.Memory == "" {
		return "memory"
	}
	return f.Memory
}

// where describes the position of an access in its memory.
func (f *Finding) where() string {
	if f.MemoryBytes == 0 {
		return f.memory()
	}
	switch {
	case f.Byte < 0:
		return fmt.Sprintf("%d bytes before the start of %s of %d bytes", -f.Byte, f.memory(), f.MemoryBytes)
	case f.Byte >= f.MemoryBytes:
		return fmt.Sprintf("%d bytes past the end of %s of %d bytes", f.Byte-f.MemoryBytes, f.memory(),
			f.MemoryBytes)
	case f.Byte+f.Bytes > f.MemoryBytes:
		return fmt.Sprintf(
			"%d bytes from byte %d on, across the end of %s of %d bytes",
			f.Bytes,
			f.Byte,
			f.memory(),
			f.MemoryBytes,
		)
	}
	return fmt.Sprintf("byte %d of %s of %d bytes", f.Byte, f.memory(), f.MemoryBytes)
}

func index(at *[3]int) string {
	if at == nil {
		return ""
	}
	return strings.ReplaceAll(fmt.Sprintf("(%d,%d,%d)", at[0], at[1], at[2]), " ", "")
}
