package report

import (
	"fmt"
	"io"
)

// ProfileLine holds a profiler's counts of one kernel. The shares are of the GPU's peak, in percent; one that
// the GPU does not count is nil.
type ProfileLine struct {
	Kernel, Grid, Block      string
	Launches, Registers      int
	TimeNS                   float64
	Memory, L2, Issue, Warps *float64
	Waits                    string // why warps waited, the most frequent reason first
}

// A table has at most mostProfiles of the longest kernels, and none that takes less than shareOfLongest of
// the longest: most of those fill and check a call's memory.
const (
	mostProfiles   = 24
	shareOfLongest = 0.1
)

// Profiled writes a line for each of the longest kernels.
func Profiled(w io.Writer, style Style, all []ProfileLine, folder string) error {
	w = style.Wrap(w)
	var rows [][]string
	percent := func(v *float64) string {
		if v == nil {
			return "n/a"
		}
		return fmt.Sprintf("%.0f %%", *v)
	}
	for _, l := range all[:min(len(all), mostProfiles)] {
		if l.TimeNS < shareOfLongest*all[0].TimeNS {
			break
		}
		rows = append(rows, []string{
			Duration(l.TimeNS), l.Grid, l.Block, fmt.Sprint(l.Registers), percent(l.Memory), percent(l.L2),
			percent(l.Issue), percent(l.Warps), l.Waits, clean(l.Kernel),
		})
	}
	if err := style.Table(w, "  ", columns(">time", ">grid", ">block", ">registers", ">memory", ">L2",
		">issue", ">warps", "warps wait for", "kernel"), rows); err != nil {
		return err
	}
	more := ""
	if n := len(all) - len(rows); n > 0 {
		more = fmt.Sprintf(" %s took less time each.", counted(n, "more kernel"))
	}
	return write(w, fmt.Sprintf("\nA kernel under a profiler is slower than without it; its time is no "+
		"measurement.%s What ncu wrote is in %s.\n", more, clean(folder)))
}
