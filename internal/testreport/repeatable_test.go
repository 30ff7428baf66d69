package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// program makes this test binary testreport itself.
const program = "TESTREPORT_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(program) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestInsideStarts(t *testing.T) {
	if os.Getenv(inside) == "" {
		return
	}
	if err := exec.Command("true").Run(); err != nil {
		t.Error(err)
	}
}

func TestInsideOpensADescriptor(t *testing.T) {
	if os.Getenv(inside) == "" {
		return
	}
	if _, err := os.ReadFile("/proc/self/fd/0"); err != nil {
		t.Error(err)
	}
}

// go test may keep a result that depends only on what the test binary itself has read through Go's library.
func TestRepeatableResultsHaveALog(t *testing.T) {
	t.Setenv(inside, "1")
	for name, kept := range map[string]bool{
		"TestInsideFirst": true, "TestInsideStarts": false, "TestInsideOpensADescriptor": false,
	} {
		binary := filepath.Join(t.TempDir(), "binary") // the list lies in its folder
		if err := os.Symlink(os.Args[0], binary); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		code, err := execTest([]string{
			binary, "-test.paniconexit0", "-test.run=^" + name + "$", "-test.v=test2json",
		}, &out)
		if err != nil || code != 0 {
			t.Fatalf("%s: exit %d, %v\n%s", name, code, err, out.String())
		}
		list, err := os.ReadFile(filepath.Join(filepath.Dir(binary), "testlog.txt"))
		if (err == nil) != kept || kept && !strings.HasPrefix(string(list), "# test log\n") {
			t.Errorf("%s: %v, %q; want it kept: %v", name, err, list, kept)
		}
	}
}

// C code opens files that no list has. The shell imports open; a Go binary without C imports nothing.
func TestOpensFromC(t *testing.T) {
	shell, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		t.Skip(err)
	}
	for path, opens := range map[string]bool{shell: true, os.Args[0]: false, "/no/such/program": true} {
		if opensFromC(path) != opens {
			t.Errorf("%s: want %v", path, opens)
		}
	}
}

// go test reuses a result until a file changes that the test reads.
func TestUnchangedPackagesAreNotRunAgain(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		// go test trusts no file that was written less than two seconds ago
		old := time.Now().Add(-time.Minute)
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module small\n\ngo 1.26\n")
	write("data", "right")
	write("small_test.go", `package small

import (
	"os"
	"testing"
)

func TestData(t *testing.T) {
	if text, err := os.ReadFile("data"); string(text) != "right" {
		t.Error(text, err)
	}
}
`)
	run := func() (says string, passes bool) {
		cmd := exec.Command("go", "test", "-vet=off", "-ldflags=-w", "-exec", "'"+os.Args[0]+"' exec", ".")
		cmd.Dir = folder
		cmd.Env = append(os.Environ(), program+"=1", "GOWORK=off")
		out, err := cmd.CombinedOutput()
		return string(out), err == nil
	}
	first, firstPasses := run()
	second, secondPasses := run()
	write("data", "wrong")
	third, thirdPasses := run()
	if !firstPasses || !secondPasses || thirdPasses || !strings.Contains(second, "(cached)") {
		t.Errorf("passes %v, %v, %v; want the second from the cache, the third to fail:\n%s%s%s",
			firstPasses, secondPasses, thirdPasses, first, second, third)
	}
}
