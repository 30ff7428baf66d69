package check

import (
	"strings"

	"triad/cuda/program"
	"triad/internal/backend"

	"triad/internal/sass"
)

// AddNeeds adds the needs of the instantiation of a kernel with the most registers.
func AddNeeds(c *Counts, facts []backend.KernelFact, arch string) {
	name, _, _ := strings.Cut(c.Kernel, "<")
	name = strings.Trim(name[strings.LastIndexByte(name, ':')+1:], "()& ")
	for _, f := range facts {
		if sass.FunctionOf(f.Kernel) != name || f.Registers <= c.Registers {
			continue
		}
		fill, err := program.OccupancyOn(arch, int(c.Threads), f.Registers, int(c.SharedBytes))
		if err != nil {
			continue // a launch without threads
		}
		c.Arch, c.Registers, c.SpillBytes = arch, f.Registers, f.SpillBytes
		c.Warps, c.WarpsOf, c.WarpsLimit = fill.Warps, fill.Of, fill.Limit
	}
}
