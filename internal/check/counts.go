package check

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// Counts holds what a profiler would count for one line of a kernel, or for the whole kernel where Place is
// nil. A request is one instruction of a warp. Parts counts the 32-byte sectors that requests of device
// memory touch, or the wavefronts of shared memory requests; Least is the minimum for as many bytes.
//
// Access "run" counts how often a warp reached the line (Requests), with how many lanes (Lanes), and how
// often not with all of its lanes (Parts). Where one line has several stretches of code, the one that
// diverged most counts.
type Counts struct {
	Kernel      string `json:"kernel"`
	Variant     string `json:"variant,omitempty"` // Request.Variant
	Call        string `json:"call,omitempty"`    // Request.Call
	Launches    int64  `json:"launches,omitempty"`
	Blocks      int64  `json:"blocks,omitempty"` // of all launches
	Threads     int64  `json:"threads,omitempty"`
	SharedBytes int64  `json:"shared_bytes,omitempty"` // of a block

	// from nvcc for Arch: registers, spills, and the warps resident on one multiprocessor, out of how many,
	// and what limits them
	Arch       string `json:"arch,omitempty"`
	Registers  int    `json:"registers,omitempty"` // of a thread
	SpillBytes int    `json:"spill_bytes,omitempty"`
	Warps      int    `json:"warps,omitempty"`
	WarpsOf    int    `json:"warps_of,omitempty"`
	WarpsLimit string `json:"warps_limit,omitempty"`

	Place    *Place `json:"place,omitempty"`
	Memory   string `json:"memory,omitempty"` // "device" or "shared"
	Access   string `json:"access,omitempty"`
	Requests int64  `json:"requests,omitempty"`
	Lanes    int64  `json:"lanes,omitempty"` // of all requests
	Parts    int64  `json:"parts,omitempty"`
	Least    int64  `json:"least,omitempty"`
	Bytes    int64  `json:"bytes,omitempty"` // that the lanes moved
}

// readCounts reads the counts that the emulator wrote; a program that was killed wrote none.
func readCounts(ctx context.Context, q Request, name string) ([]Counts, error) {
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the counts of the program: %w", err)
	}
	defer file.Close()
	var all []Counts
	var offsets []uint64
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var c Counts
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			continue
		}
		c.Variant, c.Call = q.Variant, q.Call
		if c.Place != nil {
			offsets = append(offsets, c.Place.Offset)
		}
		all = append(all, c)
	}
	places, err := q.Locate(ctx, offsets)
	if err != nil {
		return nil, err
	}
	return merged(all, places), nil
}

// located gives each count the line of its address, and drops those outside the program's files.
func located(all []Counts, places map[uint64]Place) []Counts {
	var out []Counts
	for _, c := range all {
		if c.Place != nil {
			at, known := places[c.Place.Offset]
			if !known {
				continue
			}
			c.Place = &at
		}
		out = append(out, c)
	}
	return out
}

// withoutHalves drops the atomic loads of lines that also have an atomic update: the emulator loads a float
// before it replaces the sum, where a GPU has one instruction. Any other atomic load is a read.
func withoutHalves(all []Counts) []Counts {
	const load = "load"
	var out []Counts
	for _, c := range all {
		if c.Access == load {
			half := slices.ContainsFunc(all, func(o Counts) bool {
				return o.Access == "atomic" && o.ofKernel(&c) && o.Memory == c.Memory && *o.Place == *c.Place
			})
			if half {
				continue
			}
			c.Access = "read"
		}
		out = append(out, c)
	}
	return out
}

// merged adds up the counts of one line: instantiations of a template, and parts of an access.
func merged(all []Counts, places map[uint64]Place) []Counts {
	var out []Counts
	for _, c := range withoutHalves(located(all, places)) {
		i := slices.IndexFunc(out, func(o Counts) bool {
			return o.Kernel == c.Kernel && o.Memory == c.Memory && o.Access == c.Access && o.Place != nil &&
				c.Place != nil && *o.Place == *c.Place
		})
		if i < 0 {
			out = append(out, c)
			continue
		}
		if c.Access == diverged {
			if c.Parts > out[i].Parts {
				out[i] = c
			}
			continue
		}
		out[i].Requests += c.Requests
		out[i].Lanes += c.Lanes
		out[i].Parts += c.Parts
		out[i].Least += c.Least
		out[i].Bytes += c.Bytes
	}
	slices.SortStableFunc(out, func(a, b Counts) int {
		if a.Kernel != b.Kernel {
			return strings.Compare(a.Kernel, b.Kernel)
		}
		if a.Place == nil || b.Place == nil {
			return bool2int(a.Place != nil) - bool2int(b.Place != nil)
		}
		return a.Place.Line - b.Place.Line
	})
	return out
}

// ofKernel reports whether two counts belong to the same kernel, launched by the same implementation.
func (c *Counts) ofKernel(other *Counts) bool {
	return c.Kernel == other.Kernel && c.Variant == other.Variant
}

// largestCalls joins the counts of two calls. A kernel that both launched keeps the counts of the call with
// more threads.
func largestCalls(first, second []Counts) []Counts {
	threads := func(all []Counts, of Counts) int64 {
		i := slices.IndexFunc(all, func(o Counts) bool { return o.Place == nil && o.ofKernel(&of) })
		if i < 0 {
			return -1
		}
		return all[i].Blocks * all[i].Threads
	}
	larger := func(c Counts) bool { return threads(second, c) > threads(first, c) }
	var all []Counts
	for _, c := range first {
		if !larger(c) {
			all = append(all, c)
		}
	}
	for _, c := range second {
		if larger(c) {
			all = append(all, c)
		}
	}
	return all
}

// diverged is the Access of the counts of runs of a line.
const diverged = "run"

func bool2int(is bool) int {
	if is {
		return 1
	}
	return 0
}

// title names the kernel, and the counted call if there were several.
func (c *Counts) title() string {
	name := c.Kernel
	if name == "" { // launched through a pointer that no name is known of
		name = "without a name"
	}
	if c.Call == "" {
		return name
	}
	return name + " in " + c.Call
}
