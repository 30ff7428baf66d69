package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"triad/internal/session"
)

// helpOf returns what triad prints for a command line that asks for help.
func helpOf(t *testing.T, args ...string) string {
	t.Helper()
	var out, errOut bytes.Buffer
	if code := newApp(strings.NewReader(""), &out, &errOut).execute(args); code != session.ExitGood {
		t.Fatalf("%q ends with %d: %s", args, code, errOut.String())
	}
	return out.String()
}

// TestHelpIsWrappedAndGrouped: no line of any verb's help is wider than a terminal of 100 columns, examples
// apart, and each flag of a verb with many stands under a heading that says what it is for.
func TestHelpIsWrappedAndGrouped(t *testing.T) {
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		text := helpOf(t, append(strings.Fields(cmd.CommandPath())[1:], "--help")...)
		if strings.Contains(text, "\nOther flags:") {
			t.Errorf("%s: flags without a heading:\n%s", cmd.CommandPath(),
				text[strings.Index(text, "\nOther flags:"):])
		}
		_, flags, _ := strings.Cut(text, "\nFlags:\n")
		for line := range strings.Lines(flags) {
			// pflag lets the last word of a line stand out a little
			if len(line) > 105 {
				t.Errorf("%s: a line of %d columns: %s", cmd.CommandPath(), len(line), line)
			}
		}
		for _, c := range cmd.Commands() {
			if c.Name() != "completion" && !c.Hidden {
				look(c)
			}
		}
	}
	look(newApp(nil, nil, nil).root())
	compare := helpOf(t, "compare", "--help")
	headings := regexp.MustCompile(`(?m)^[A-Z][^.\n]*:$`).FindAllString(compare, -1)
	if got := strings.Join(headings, " "); got != "Usage: Examples: What is run: A file of your own: "+
		"Output: "+
		"Time and tools of a GPU: Machines:" {
		t.Errorf("compare --help has the headings %s", got)
	}
}
