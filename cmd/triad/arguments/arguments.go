// Package arguments says what verbs require behind their names.
package arguments

import (
	"strings"

	"github.com/spf13/cobra"

	"triad/internal/console"
)

// One requires exactly one argument; what describes it.
func One(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return console.Usage("%s: want %s", strings.TrimPrefix(cmd.CommandPath(), "triad "), what)
		}
		return nil
	}
}
