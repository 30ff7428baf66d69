package main

import (
	"bytes"
	"debug/elf"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// testLog is the flag with the file in which a test binary lists the environment variables and the files that
// it read. With -exec go test does not set it, although it reads the file afterwards: without one it never
// stores a result in its cache.
const testLog = "-test.testlogfile="

// logged adds the flag to a test binary's arguments, and returns the file, which go test expects in the
// folder of the binary. The file is "" where the arguments do not come from go test.
func logged(args []string) (withLog []string, file string) {
	ours := func(a string) bool { return strings.HasPrefix(a, "-test.paniconexit0") }
	if !slices.ContainsFunc(args, ours) {
		return args, ""
	}
	file = filepath.Join(filepath.Dir(args[0]), "testlog.txt")
	return slices.Insert(slices.Clone(args), 1, testLog+file), file
}

// keepResult removes the list of a test binary whose result depends on more than the list holds, so that go
// test runs it again every time: what its child processes read, what its C code opens, and files that it
// opens through another descriptor. children says whether it started processes.
func keepResult(binary, list string, children bool) {
	if list != "" && (children || opensFromC(binary) || opensDescriptors(list)) {
		_ = os.Remove(list)
	}
}

// opensFromC reports whether C code of a binary can open files; also if the binary cannot be read.
func opensFromC(binary string) bool {
	file, err := elf.Open(binary)
	if err != nil {
		return true
	}
	defer file.Close()
	wanted, err := file.ImportedSymbols() // none of a binary without C
	return err == nil && slices.ContainsFunc(wanted, func(s elf.ImportedSymbol) bool {
		return slices.Contains([]string{"open", "open64", "openat", "fopen", "fopen64", "dlopen"}, s.Name)
	})
}

// opensDescriptors reports whether a list has the name of a descriptor instead of that of a file.
func opensDescriptors(list string) bool {
	text, err := os.ReadFile(list)
	return err != nil || bytes.Contains(text, []byte("\nopen /proc/self/fd/"))
}
