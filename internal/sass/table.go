package sass

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Facts holds ptxas's figures for a kernel.
type Facts struct {
	Registers, SpillBytes int
}

// Write prints a kernel and its loops: instructions by role, and the clocks of one pass by one warp, by pipe.
// The largest is a lower bound for the loop, however well the pipes overlap.
func Write(w io.Writer, k Kernel, f Facts) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%s\n  code %.1f KiB, %d registers a thread, %d bytes spilled\n", k.Name,
		float64(k.CodeBytes())/1024, f.Registers, f.SpillBytes)
	loops := k.Loops()
	if len(loops) == 0 {
		_, err := fmt.Fprintf(w, "  no loop of %d instructions or more\n", smallestLoop)
		return err
	}
	header := []string{"  loop", "instructions"}
	for _, role := range Roles() {
		header = append(header, role.String())
	}
	header = append(header, "clocks: tensor", "exp", "float", "integer", "issue", "bound by")
	fmt.Fprintln(out, strings.Join(header, "\t")+"\t")
	for _, l := range loops {
		row := []string{fmt.Sprintf("  0x%x..0x%x", l.First, l.Last), fmt.Sprint(len(l.Instructions))}
		for _, n := range l.Count() {
			row = append(row, fmt.Sprint(n))
		}
		c := l.Clocks()
		pipe, _ := c.Bound()
		for _, n := range []int{c.Tensor, c.Exp, c.Float, c.Integer, c.Issue} {
			row = append(row, fmt.Sprint(n))
		}
		fmt.Fprintln(out, strings.Join(append(row, pipe), "\t")+"\t")
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write the loops of %s: %w", k.Name, err)
	}
	for _, l := range loops {
		if beside, behind := l.ExponentialsBehindWait(); behind > beside {
			fmt.Fprintf(w, "  loop 0x%x: %d of %d exponentials stand behind the wait for all products\n",
				l.First, behind, beside+behind)
		}
		if apart := l.ProductsAddedApart(); apart > 0 {
			products := "products are"
			if apart == 1 {
				products = "product is"
			}
			fmt.Fprintf(w, "  loop 0x%x: %d %s multiplied and added apart, by FMUL and FADD\n", l.First,
				apart,
				products)
		}
	}
	return nil
}
