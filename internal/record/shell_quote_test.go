package record

import (
	"os/exec"
	"strings"
	"testing"
)

// A command with a folder's name in it is shown as it was typed.
func TestCommandLine(t *testing.T) {
	if got := CommandLine([]string{"my kernels", "--once"}); got != "'my kernels' --once" {
		t.Errorf("%s", got)
	}
}

// A shell returns every word unchanged, and plain ones have no quotes.
func TestShellQuote(t *testing.T) {
	words := []string{
		"", "compare", "--dims", "rows=1,cols=3", "a b", "it's",
		"#2", "mine.cu:run#2", "$HOME", "k<float,256>", "*",
	}
	line := "printf '%s\\n'"
	for _, w := range words {
		line += " " + ShellQuote(w)
	}
	out, err := exec.Command("sh", "-c", line).Output()
	if err != nil || string(out) != strings.Join(words, "\n")+"\n" {
		t.Errorf("%s: %v\n%s", line, err, out)
	}
	for _, plain := range []string{"mine.cu:run#2", "rows=1,cols=3", "x@backward"} {
		if got := ShellQuote(plain); got != plain {
			t.Errorf("%s: want it without quotes", got)
		}
	}
}
