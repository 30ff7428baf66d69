package arguments

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"triad/internal/catalog"
	"triad/internal/console"
)

// Verbs is the check of the arguments of a command whose verbs follow it, such as triad results: any word
// that gets here is none of them.
func Verbs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return UnknownVerb(cmd, args[0])
}

// UnknownVerb returns the error for a word in the place of a verb of cmd. It says which verb the word is
// nearest to and, of an operator's name, which verb takes it.
func UnknownVerb(cmd *cobra.Command, word string) error {
	if word == "" {
		return console.Usage("an argument is empty: is a variable of the shell unset? triad --help lists " +
			"the verbs")
	}
	named := fmt.Sprintf("unknown verb %q", word)
	if path := cmd.CommandPath(); cmd.HasParent() {
		named = fmt.Sprintf("unknown verb %q of %s", word, path)
	} else if o, err := catalog.Find(word); err == nil {
		return console.Usage("%s: %s is an operator: %s compare %s", named, o.Spec.Name, path, o.Spec.Name)
	}
	cmd.SuggestionsMinimumDistance = 2
	switch near := cmd.SuggestionsFor(word); {
	case len(near) > 0:
		return console.Usage("%s: do you mean %s?", named, strings.Join(near, " or "))
	case !cmd.HasParent():
		if operator := catalog.Nearest(word); operator != "" {
			return console.Usage("%s: do you mean triad compare %s?", named, operator)
		}
	}
	var verbs []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			verbs = append(verbs, c.Name())
		}
	}
	return console.Usage("%s: want %s", named, strings.Join(verbs, ", "))
}
