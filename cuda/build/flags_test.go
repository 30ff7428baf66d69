package build

import (
	"slices"
	"strings"
	"testing"
)

// Flags that choose files, architectures or outputs are refused; of the others, definitions apply to the
// emulator.
func TestCheckFlags(t *testing.T) {
	emulated, err := CheckFlags([]string{
		"-DTILE=32", "-use_fast_math", "-UNDEBUG", "-maxrregcount=64", "-O1",
		"--fmad=false", "-I/home/me/include", "-std=c++20",
	})
	want := []string{"-DTILE=32", "-UNDEBUG", "-I/home/me/include", "-std=c++20"}
	if err != nil || !slices.Equal(emulated, want) {
		t.Errorf("%v, %v", emulated, err)
	}
	for _, flag := range []string{
		"-o", "x.cu", "-arch=sm_90", "-I", "-I$(id)", "-include", "-DX=$(id)", "-D",
		"-Xcompiler", "-O9", "-ldl", "-DA;B", "-std=c++98", `-I/a"b`,
	} {
		if _, err := CheckFlags([]string{flag}); err == nil {
			t.Errorf("%q is taken", flag)
		}
	}
}

// A flag with a space or an apostrophe is parsed as it was written, in the line of a file and on a command
// line.
func TestFlagsWithSpaces(t *testing.T) {
	flags := []string{"-DA=1", "-I/home/me/my kernels (2)/é", "-I/home/o'brien", "-w"}
	line := JoinFlags(flags)
	if got := SplitFlags(line); !slices.Equal(got, flags) {
		t.Errorf("%q is read as %q", line, got)
	}
	if emulated, err := CheckFlags(flags); err != nil || len(emulated) != 3 {
		t.Errorf("%q, %v", emulated, err)
	}
	for text, want := range map[string][]string{
		`-I"my folder" '-DB=2'`: {"-Imy folder", "-DB=2"},
		` -w  -O1 `:             {"-w", "-O1"},
		`-I"my folder`:          {"-Imy folder"},
		``:                      nil,
	} {
		if got := SplitFlags(text); !slices.Equal(got, want) {
			t.Errorf("%q is read as %q, want %q", text, got, want)
		}
	}
}

// The flags are in the text of the file that asks for them, so that the hashes of the caches differ between
// flags.
func TestFlagsAreRead(t *testing.T) {
	read := func(text string) ([]string, error) {
		return (&SourceSet{
			Main:  "m.cu",
			Files: map[string]SourceFile{"m.cu": {"m.cu", []byte(text)}},
		}).Flags()
	}
	if got, err := read(FlagsLine([]string{"-DA=1", "-w"}) + "int x;\n"); err != nil ||
		strings.Join(got, " ") != "-DA=1 -w" {
		t.Errorf("%v, %v", got, err)
	}
	got, err := read(FlagsLine([]string{"-I/home/me"}) + "int x;\n")
	if err != nil || got[0] != "-Idisk/home/me" {
		t.Errorf("%v, %v: want the folder in the build folder", got, err)
	}
	if got, err := read("int x;\n" + FlagsLine([]string{"-DA=1"})); err != nil || got != nil {
		t.Errorf("%v, %v from a line that is not the first", got, err)
	}
	if _, err := read("// triad flags: -o /tmp/x\n"); err == nil {
		t.Error("a file may choose its output")
	}
}
