package flags

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"triad/internal/console"
	"triad/internal/report"
)

const (
	// helpWidth is the width of help that no terminal limits.
	helpWidth = 100
	// leastHelpWidth is the least: below it pflag gives up wrapping.
	leastHelpWidth = 40
	// manyFlags is the number of flags from which help shows them in groups.
	manyFlags = 20
)

// flagGroups puts the flags of the verbs that judge and time under headings.
var flagGroups = []struct {
	title string
	flags []string
}{
	{"What is run", []string{
		"pass", "dtype", "dims", "attr", "impl", "quick", "full", "distribution", "layout", "upstream",
		"saved",
		"seed", "strict", "resume", "plan",
	}},
	{"A file of your own", []string{
		"add", "map", "write", "contract", "grid", "block", "shared", "nvcc-flags", "sandbox", "no-sandbox",
	}},
	{"Output", []string{"verbose", "explain", "against", "dump", "json", "junit", "github", "db"}},
	{"Time and tools of a GPU", []string{
		"no-timing", "sanitize", "regime", "burst", "sustained", "rounds", "budget", "profile",
	}},
	{"Machines", []string{
		"device", "gpu", "gpus", "on", "parts", "shards", "slurm", "shard", "limit", "offline", "yes", "help",
	}},
}

// SetHelp makes a command and the verbs below it print help as wide as the terminal, many flags in groups.
func SetHelp(c *console.Console, root *cobra.Command) {
	width := func() int {
		if w := c.Style().Width; w > 0 {
			return max(w, leastHelpWidth)
		}
		return helpWidth
	}
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		_, err := io.WriteString(cmd.OutOrStderr(), usageText(cmd, width()))
		return err
	})
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		long := cmd.Long
		if long == "" {
			long = cmd.Short
		}
		out := report.Style{Width: width()}.Wrap(cmd.OutOrStdout())
		// a reader that is gone needs no error
		_, _ = io.WriteString(out, joinedParagraphs(strings.TrimRight(long, " \n"))+"\n\n")
		_, _ = io.WriteString(cmd.OutOrStdout(), usageText(cmd, width()))
	})
}

// joinedParagraphs joins the lines of each paragraph. Indented lines, which are examples and tables, stay.
func joinedParagraphs(text string) string {
	var joined strings.Builder
	before := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		plain := line != "" && line[0] != ' '
		switch {
		case joined.Len() == 0:
		case plain && before != "" && before[0] != ' ':
			joined.WriteByte(' ')
		default:
			joined.WriteByte('\n')
		}
		joined.WriteString(line)
		before = line
	}
	return joined.String()
}

// usageText returns how a command is called, its examples, verbs and flags.
func usageText(cmd *cobra.Command, width int) string {
	var text strings.Builder
	text.WriteString("Usage:\n")
	if cmd.Runnable() {
		fmt.Fprintf(&text, "  %s\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&text, "  %s VERB\n", cmd.CommandPath())
	}
	if cmd.HasExample() {
		fmt.Fprintf(&text, "\nExamples:\n%s\n", cmd.Example)
	}
	for _, group := range append(cmd.Groups(), &cobra.Group{Title: "Verbs:"}) {
		verbs := slices.DeleteFunc(slices.Clone(cmd.Commands()), func(c *cobra.Command) bool {
			return c.GroupID != group.ID || !c.IsAvailableCommand() && c.Name() != "help"
		})
		if len(verbs) == 0 {
			continue
		}
		fmt.Fprintf(&text, "\n%s\n", group.Title)
		for _, c := range verbs {
			fmt.Fprintf(&text, "  %-*s %s\n", c.NamePadding(), c.Name(), c.Short)
		}
	}
	for _, group := range groupedFlags(cmd) {
		fmt.Fprintf(&text, "\n%s:\n%s", group.title, group.flags.FlagUsagesWrapped(width))
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&text, "\n%s VERB --help says more about a verb.\n", cmd.CommandPath())
	}
	return text.String()
}

type flagGroup struct {
	title string
	flags *pflag.FlagSet
}

// groupedFlags returns the flags that help shows: those of a command with many in the order of flagGroups.
func groupedFlags(cmd *cobra.Command) []flagGroup {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	n := 0
	for _, flags := range []*pflag.FlagSet{cmd.LocalFlags(), cmd.InheritedFlags()} {
		flags.VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && all.Lookup(f.Name) == nil {
				all.AddFlag(f)
				n++
			}
		})
	}
	if n == 0 {
		return nil
	}
	if n < manyFlags {
		return []flagGroup{{"Flags", all}}
	}
	var groups []flagGroup
	taken := map[string]bool{}
	for _, g := range flagGroups {
		set := pflag.NewFlagSet("", pflag.ContinueOnError)
		set.SortFlags = false
		for _, name := range g.flags {
			if f := all.Lookup(name); f != nil && !taken[name] {
				set.AddFlag(f)
				taken[name] = true
			}
		}
		if set.HasFlags() {
			groups = append(groups, flagGroup{g.title, set})
		}
	}
	rest := pflag.NewFlagSet("", pflag.ContinueOnError)
	all.VisitAll(func(f *pflag.Flag) {
		if !taken[f.Name] {
			rest.AddFlag(f)
		}
	})
	if rest.HasFlags() {
		groups = append(groups, flagGroup{"Other flags", rest})
	}
	return groups
}
