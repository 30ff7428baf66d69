package main

import (
	"bytes"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"triad/internal/runsetup"
	"triad/internal/session"
	"triad/results"
)

// shellWord matches a word of a command line, in quotes or not.
var shellWord = regexp.MustCompile(`"[^"]*"|[^\s"]+`)

// examples returns the command lines in the help of a verb, in words and without shell syntax.
func examples(cmd *cobra.Command) (all [][]string) {
	for line := range strings.Lines(cmd.Long + "\n" + cmd.Example) {
		for _, part := range strings.Split(line, " && ") {
			part, _, _ = strings.Cut(part, " > ")
			part, _, _ = strings.Cut(part, "   ") // a remark follows it
			if !strings.HasPrefix(line, "  triad ") {
				continue
			}
			var words []string
			for _, word := range shellWord.FindAllString(part, -1) {
				words = append(words, strings.Trim(word, `"`))
			}
			all = append(all, words[1:])
		}
	}
	return all
}

// TestExamplesAreTrue: every example of every verb parses, names operators that exist, and runs if it is SQL.
func TestExamplesAreTrue(t *testing.T) {
	db := filepath.Join(t.TempDir(), "results.db")
	store, err := results.Open(t.Context(), db, results.Options{})
	if err != nil {
		t.Fatal(err)
	}
	store.Close()
	var shown int
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		for _, words := range examples(cmd) {
			shown++
			if problem := exampleProblem(t, words, db); problem != "" {
				t.Errorf("%s shows %q: %s", cmd.CommandPath(), strings.Join(words, " "), problem)
			}
		}
		for _, c := range cmd.Commands() {
			if c.Name() != "completion" {
				look(c)
			}
		}
	}
	look(newApp(nil, nil, nil).root())
	if shown < 20 {
		t.Errorf("%d examples, want all of them", shown)
	}
}

// exampleProblem returns what is wrong with one example, "" if nothing is.
func exampleProblem(t *testing.T, words []string, db string) string {
	t.Helper()
	said := &bytes.Buffer{}
	a := newApp(strings.NewReader(""), said, said)
	cmd, rest, err := a.root().Find(words)
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err == nil {
		err = cmd.ValidateArgs(cmd.Flags().Args())
	}
	if err != nil {
		return err.Error()
	}
	names := cmd.Flags().Args()
	if slices.Contains([]string{"compare", "gradcheck", "bench", "watch"}, cmd.Name()) &&
		!strings.HasPrefix(names[0], "./") {
		if _, err := runsetup.Operators(names); err != nil {
			return err.Error()
		}
	}
	if cmd.Name() == "query" {
		if !slices.Contains(words, "--schema") { // which stands alone
			words = append(words, "--db", db)
		}
		if code := a.execute(words); code != session.ExitGood {
			return said.String()
		}
	}
	return ""
}
