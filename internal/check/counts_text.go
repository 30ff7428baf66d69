package check

import (
	"fmt"
	"strings"
)

// mostTables is the number of kernels up to which each gets a table of its lines unless all are asked for.
const mostTables = 3

// explained prints the counts: a table for each kernel, or of many kernels a line for each, with the line of
// the source that wastes most.
func (p *printer) explained(counts []Counts, all bool) {
	kernels := kernelsOf(counts)
	if len(kernels) == 0 {
		return
	}
	if len(kernels) > mostTables && !all {
		p.worstLines(kernels)
		return
	}
	width := len("line")
	for _, c := range counts {
		if c.Place != nil {
			width = max(width, len(p.at(c.Place)))
		}
	}
	for _, k := range kernels {
		p.table(k, width)
	}
	p.line("")
}

// kernelsOf splits counts by kernel: the first of each is that of the whole kernel.
func kernelsOf(counts []Counts) [][]Counts {
	var all [][]Counts
	for _, c := range counts {
		if c.Place == nil || len(all) == 0 {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], c)
	}
	return all
}

// unitOf returns what a request of a memory is counted in.
func (c *Counts) unitOf() string {
	if c.Memory == "shared" {
		return "wavefronts"
	}
	return "sectors"
}

// each returns a count for each request.
func (c *Counts) each(n int64) string { return fmt.Sprintf("%.2f", float64(n)/float64(c.Requests)) }

// worstLines prints for each kernel the line with most sectors or wavefronts beyond what its bytes need.
func (p *printer) worstLines(kernels [][]Counts) {
	for _, k := range kernels {
		var worst *Counts
		for i := range k[1:] {
			c := &k[1+i]
			if c.Access != diverged && (worst == nil || c.Parts-c.Least > worst.Parts-worst.Least) {
				worst = c
			}
		}
		switch {
		case worst == nil:
			p.line("Kernel %s: no access of memory is counted.", k[0].title())
		case worst.Parts <= worst.Least:
			p.line("Kernel %s: no access takes more than its bytes need.", k[0].title())
		default:
			p.line("Kernel %s: %s: %s %s takes %s %s a request, at best %s.", k[0].title(),
				p.at(worst.Place), worst.Access, worst.Memory, worst.each(worst.Parts), worst.unitOf(),
				worst.each(worst.Least))
		}
	}
	p.line("--verbose prints every line of each kernel.")
	p.line("")
}

// table prints the lines of a kernel, their places in a column of this width.
func (p *printer) table(kernel []Counts, width int) {
	c := kernel[0]
	p.line("Kernel %s: %d launches, %d blocks in all, %d threads and %d bytes of shared memory a block.",
		c.title(), c.Launches, c.Blocks, c.Threads, c.SharedBytes)
	if c.Registers > 0 {
		p.line("  On %s: %d registers a thread, %d bytes spilled; a multiprocessor holds %d of %d warps, "+
			"limited by %s.", c.Arch, c.Registers, c.SpillBytes, c.Warps, c.WarpsOf, c.WarpsLimit)
	}
	row := func(cells ...any) {
		text := fmt.Sprintf("  %-*s  %-14s  %8s  %6s  %7s  %7s  %s", append([]any{width}, cells...)...)
		p.line("%s", strings.TrimRight(text, " "))
	}
	row("line", "access", "requests", "lanes", "needs", "at best", "")
	for _, c := range kernel[1:] {
		switch requests := fmt.Sprint(c.Requests); {
		case c.Access != diverged:
			row(p.at(c.Place), c.Access+" "+c.Memory, requests, c.each(c.Lanes), c.each(c.Parts),
				c.each(c.Least), c.unitOf())
		case c.Parts > 0:
			row(p.at(c.Place), "run", requests, c.each(c.Lanes), "", "",
				fmt.Sprintf("%d with a part of the warp", c.Parts))
		}
	}
}
