package main

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"triad/internal/docpage"
	"triad/internal/need"
)

var updateTranscripts = flag.Bool("transcripts", false, "write the transcripts of gdb into docs/check.md")

var (
	noise = regexp.MustCompile(`(?m)^(\(gdb\) )?(Reading symbols|Starting program|\[Thread debugging|` +
		`Using host|Continuing\.|\[Inferior|warning: |quit|\+\+).*\n|^\n`)
	address = regexp.MustCompile(`0x[0-9a-f]{6,}`)
	prompts = regexp.MustCompile(`\(gdb\) (?:\(gdb\) )*`)
)

// transcript runs check --debug on a program of cuda/emulator/testdata/debug with the commands next to it. It
// uses the compiler of the environment.
func transcript(t *testing.T, name string) string {
	t.Helper()
	need.Tool(t, "gdb")
	folder, err := filepath.Abs("../../cuda/emulator/testdata/debug")
	if err != nil {
		t.Fatal(err)
	}
	commands, err := os.ReadFile(filepath.Join(folder, name+".gdb"))
	if err != nil {
		t.Fatal(err)
	}
	self, err := exec.LookPath("triad")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "check", "--debug", name+".cu")
	cmd.Dir = folder
	cmd.Stdin = strings.NewReader("set width 0\nset trace-commands on\n" + string(commands))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("check --debug %s: %v\n%s", name, err, out)
	}
	text := strings.ReplaceAll(string(out), folder+"/", "")
	text = noise.ReplaceAllString(prompts.ReplaceAllString(text, "(gdb) "), "")
	text = address.ReplaceAllString(strings.ReplaceAll(text, "(gdb) +", "(gdb) "), "0x...")
	return noise.ReplaceAllString(text+"\n", "")
}

// TestCheckDebug: gdb stops in a kernel at a thread, prints shared memory, lists the positions of all
// threads, and steps a warp; docs/check.md shows two of them.
func TestCheckDebug(t *testing.T) {
	for name, wants := range map[string][]string{
		"race":     {"(gdb) print s[64]@2", "{1, 1}", "127 can go on at race.cu:9: (1,0,0) to (127,0,0)"},
		"deadlock": {"16 waits at deadlock.cu:9: (0,0,0) to (15,0,0)", "  halves at deadlock.cu:9"},
		"two_dimensional": {
			"18 can go on at two_dimensional.cu:9: (2,3,0) to (3,7,0)", "thread (2,5,0) runs",
		},
	} {
		t.Run(name, func(t *testing.T) {
			text := transcript(t, name)
			for _, want := range wants {
				if !strings.Contains(text, want) {
					t.Errorf("no %q in\n%s", want, text)
				}
			}
			if name == "two_dimensional" {
				return // the page has the other two
			}
			docpage.Is(t, "../../docs/check.md", "debug_"+name, "```\n"+text+"```\n", *updateTranscripts,
				"go test ./cmd/triad -run CheckDebug -transcripts")
		})
	}
}

// TestCheckDebugClang: a program compiled by clang++ can be stepped through like one compiled by g++. The
// fast tier has no second compiler.
func TestCheckDebugClang(t *testing.T) {
	need.Covers(t, "", slices.Concat(need.Emulator, need.Programs, []string{
		"cmd/triad/check", "internal/programcheck",
	})...)
	t.Setenv("CXX", need.Clang(t))
	text := transcript(t, "two_dimensional")
	for _, want := range []string{
		"Breakpoint 1, turn (x=0x..., y=0x...) at two_dimensional.cu:7\n",
		"(gdb) cuda step\n8\t\ttile[j][i] = x[", "    13 waits at two_dimensional.cu:9: (0,0,0) to (0,3,0)",
		"     1 runs at two_dimensional.cu:8: (1,3,0)", "(gdb) print tile[3]\n$1 = {76, 77, 78, 79}\n",
		"thread (2,5,0) runs", "(gdb) print tile[j - 1][i]\n$2 = 82\n",
		"18 can go on at two_dimensional.cu:9: (1,3,0) to (3,7,0)",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestCheckDebugRefuses: what --debug cannot do is refused in one sentence.
func TestCheckDebugRefuses(t *testing.T) {
	file := checkFile(t, with(""))
	for line, want := range map[string]struct {
		says string
		code int
	}{
		"check --debug --json " + file: {"--debug starts a debugger", 2},
		"check --debug softmax":        {"--debug wants a program", 2},
	} {
		if text, code := runTriad(t, strings.Fields(line)...); code != want.code ||
			!strings.Contains(text, want.says) {
			t.Errorf("triad %s: exit %d, want %d and %q in\n%s", line, code, want.code, want.says, text)
		}
	}
	self, err := exec.LookPath("triad")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "check", "--debug", file)
	cmd.Env = append(os.Environ(), "PATH=/nowhere")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 || !strings.Contains(string(out), "needs gdb") {
		t.Errorf("without gdb: %v, want exit code 3 and its name in\n%s", err, out)
	}
}
