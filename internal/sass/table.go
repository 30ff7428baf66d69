package sass

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Listed is a kernel with ptxas's figures.
type Listed struct {
	Kernel
	Registers, SpillBytes int
}

// Write prints a line for each kernel, then the loops of each.
func Write(w io.Writer, all []Listed) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "kernel\tcode\tregisters\tspilled\tloops\tlargest loop: clocks\tbound by")
	for _, k := range all {
		loops := k.Loops()
		clocks, bound := "", ""
		if l := largest(loops); l != nil {
			pipe, n := l.Clocks().Bound()
			clocks, bound = fmt.Sprint(n), pipe
		}
		fmt.Fprintf(out, "%s\t%.1f KiB\t%d\t%d B\t%d\t%s\t%s\n", NameOf(k.Name).Text,
			float64(k.CodeBytes())/1024, k.Registers, k.SpillBytes, len(loops), clocks, bound)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write the kernels: %w", err)
	}
	for _, k := range all {
		if _, err := fmt.Fprintf(w, "\n%s\n", NameOf(k.Name).Text); err != nil {
			return fmt.Errorf("write the loops of %s: %w", k.Name, err)
		}
		if err := writeLoops(w, k.Kernel); err != nil {
			return err
		}
	}
	return nil
}

// largest returns the loop with the most clocks; nil if there is none.
func largest(loops []Loop) *Loop {
	var most *Loop
	clocks := -1
	for i := range loops {
		if _, n := loops[i].Clocks().Bound(); n > clocks {
			most, clocks = &loops[i], n
		}
	}
	return most
}

// writeLoops prints the loops of a kernel: instructions by role, and the clocks of one pass by one warp, by
// pipe. The largest is a lower bound for the loop, however well the pipes overlap.
func writeLoops(w io.Writer, k Kernel) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
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
		if overlapped, behind := l.ExponentialsBehindWait(); behind > overlapped {
			fmt.Fprintf(w, "  loop 0x%x: %d of %d exponentials stand behind the wait for all products\n",
				l.First, behind, overlapped+behind)
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
