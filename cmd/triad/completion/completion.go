// Package completion gives shells the values of every flag and argument of triad's verbs.
package completion

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"triad/internal/console"
)

// values gives the values of a flag or an argument of a command; names are the arguments that were typed
// before it. After a tab stands what a shell may show beside a value.
type values func(ctx context.Context, cmd *cobra.Command, names []string) []string

// of are values that depend on nothing.
func of(all ...string) values {
	return func(context.Context, *cobra.Command, []string) []string { return all }
}

// Add gives the values of flags and arguments to root and all verbs below it.
func Add(root *cobra.Command, c *console.Console) {
	s := source{c}
	flags, arguments := s.flags(), s.arguments()
	var add func(cmd *cobra.Command)
	add = func(cmd *cobra.Command) {
		path := strings.TrimPrefix(cmd.CommandPath(), "triad ")
		addFlag := func(f *pflag.Flag) {
			all, own := flags[path+" --"+f.Name]
			if !own {
				all = flags["--"+f.Name]
			}
			switch endings := files[f.Name]; {
			case all != nil:
				// it fails only for a flag that is not there or has values already
				_ = cmd.RegisterFlagCompletionFunc(f.Name, ofFlag(all, f.Value.Type() == "stringSlice"))
			case endings != nil:
				_ = cmd.RegisterFlagCompletionFunc(f.Name, func(*cobra.Command, []string, string) ([]string,
					cobra.ShellCompDirective,
				) {
					return endings, cobra.ShellCompDirectiveFilterFileExt
				})
			case f.Value.Type() != "bool" && !slices.Contains(paths, f.Name):
				_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.NoFileCompletions)
			}
		}
		cmd.Flags().VisitAll(addFlag)
		cmd.PersistentFlags().VisitAll(addFlag)
		if of, ok := arguments[path]; ok {
			cmd.ValidArgsFunction = ofArguments(of)
		}
		for _, sub := range cmd.Commands() {
			add(sub)
		}
	}
	add(root)
}

// ofFlag completes a flag. Of several values with commas between them the last is completed.
func ofFlag(all values, list bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, names []string, typed string) ([]string, cobra.ShellCompDirective) {
		before := ""
		if i := strings.LastIndexByte(typed, ','); list && i >= 0 {
			before = typed[:i+1]
		}
		return completed(all(cmd.Context(), cmd, names), before, typed)
	}
}

// argument describes what a command takes: at most so many values, 0 for any number, and files besides.
type argument struct {
	most  int
	all   values
	files bool
}

func ofArguments(a argument) cobra.CompletionFunc {
	return func(cmd *cobra.Command, names []string, typed string) ([]string, cobra.ShellCompDirective) {
		if a.most > 0 && len(names) >= a.most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		fitting, directive := completed(a.all(cmd.Context(), cmd, names), "", typed)
		if a.files {
			directive &^= cobra.ShellCompDirectiveNoFileComp
		}
		return fitting, directive
	}
}

// completed returns the values that begin as what is typed, behind those typed before a comma. One that ends
// with = waits for the rest.
func completed(all []string, before, typed string) ([]string, cobra.ShellCompDirective) {
	directive := cobra.ShellCompDirectiveNoFileComp
	var fitting []string
	for _, value := range all {
		word, _, _ := strings.Cut(value, "\t")
		if strings.HasPrefix(before+word, typed) && !strings.Contains(","+before, ","+word+",") {
			fitting = append(fitting, before+value)
			if strings.HasSuffix(word, "=") {
				directive |= cobra.ShellCompDirectiveNoSpace
			}
		}
	}
	return fitting, directive
}
