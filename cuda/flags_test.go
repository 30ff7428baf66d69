package cuda

import (
	"slices"
	"strings"
	"testing"
)

// Flags that choose files, architectures or outputs are refused; of the others definitions mean something in
// the emulator.
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
		"-Xcompiler", "-O9", "-ldl", "-DA;B", "-std=c++98",
	} {
		if _, err := CheckFlags([]string{flag}); err == nil {
			t.Errorf("%q is taken", flag)
		}
	}
}

// The flags stand in the text of the file that asks for them, so that the caches' hashes tell files with
// other flags apart.
func TestFlagsAreRead(t *testing.T) {
	read := func(text string) ([]string, error) {
		return (&sourceSet{
			main:  "m.cu",
			files: map[string]sourceFile{"m.cu": {"m.cu", []byte(text)}},
		}).flags()
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
