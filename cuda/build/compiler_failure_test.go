package build

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"triad/internal/backend"
	"triad/internal/hosttrouble"
	"triad/internal/subprocess"
)

// A compiler that was killed from outside, or ran out of room, says nothing about the file; one that ran to
// its end does, whatever the file makes it print.
func TestCompilerThatDidNotEnd(t *testing.T) {
	folder := t.TempDir()
	for name, c := range map[string]struct {
		script  string
		trouble bool
	}{
		"killed":    {"kill -9 $$", true},
		"ended":     {"kill $$", true},
		"a part":    {"echo 'g++: fatal error: Killed signal terminated program cc1plus'; exit 1", true},
		"of nvcc":   {"echo \"nvcc error   : 'cicc' died due to signal 9 (Kill signal)\"; exit 1", true},
		"linker":    {"echo '/usr/bin/ld: final link failed: No space left on device'; exit 1", true},
		"assembler": {"echo \"Fatal error: can't write to a.o: 'No space left on device'\"; exit 1", true},
		"memory":    {"echo 'cc1plus: out of memory allocating 65536 bytes'; exit 1", true},
		"not there": {"", true},
		"mistake":   {"echo \"k.cu:3:1: error: expected ';'\"; exit 1", false},
		"in words":  {"echo 'k.cu:3:2: error: #error No space left on device'; exit 1", false},
		"quoted":    {"echo \"k.cu:3:1: error: no\n 3 | // Killed terminated program x\"; exit 1", false},
		"crash":     {"echo 'nvcc error : cicc died due to signal 11 (Invalid memory)'; exit 139", false},
	} {
		compiler := filepath.Join(folder, name)
		if c.script != "" {
			if err := os.WriteFile(compiler, []byte("#!/bin/sh\n"+c.script+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		log, err := compile(t.Context(), folder, compiler, nil)
		if err == nil {
			t.Fatalf("%s: no error", name)
		}
		err = compileFailure(t.Context(), err, "k.cu", log)
		var trouble *backend.HostTrouble
		var mistake *Error
		if errors.As(err, &trouble) != c.trouble || errors.As(err, &mistake) == c.trouble {
			t.Errorf("%s: %T %v, want trouble of the machine: %v", name, err, err, c.trouble)
		}
	}
	err := compileFailure(t.Context(), &subprocess.Exceeded{Program: "g++", Why: "it used 9 GiB"}, "k.cu", "")
	var mistake *Error
	if !errors.As(err, &mistake) || !strings.Contains(err.Error(), "g++ was killed: it used 9 GiB") {
		t.Errorf("a file that fills the memory: %T %v", err, err)
	}
}

// A folder of the cache that lost a file, or whose bytes changed, is built again.
func TestDamagedBuildIsRedone(t *testing.T) {
	for name, damage := range map[string]func(folder string) error{
		"cut":   func(f string) error { return os.Truncate(filepath.Join(f, "a.so"), 3) },
		"empty": func(f string) error { return os.Truncate(filepath.Join(f, "a.so"), 0) },
		"zeros": func(f string) error {
			return os.WriteFile(filepath.Join(f, "a.so"), make([]byte, 5), 0o644)
		},
		"gone": func(f string) error { return os.Remove(filepath.Join(f, "b.so")) },
		"record": func(f string) error {
			return os.WriteFile(filepath.Join(f, recordName), []byte(`{"compiler": "g++"`), 0o644)
		},
		"record without hashes": func(f string) error {
			return os.WriteFile(filepath.Join(f, recordName), []byte(`{"compiler": "g++"}`), 0o644)
		},
	} {
		c := cache{t.TempDir()}
		builds := 0
		get := func() (string, bool) {
			folder, _, cached, err := c.get(t.Context(), "key", func(folder string) (record, error) {
				builds++
				return record{}, errors.Join(
					os.WriteFile(filepath.Join(folder, "a.so"), []byte("whole"), 0o644),
					os.WriteFile(filepath.Join(folder, "b.so"), []byte("beside"), 0o644))
			})
			if err != nil {
				t.Fatal(err)
			}
			return folder, cached
		}
		folder, _ := get()
		if _, cached := get(); !cached || builds != 1 {
			t.Errorf("%s: built %d times before anything was damaged", name, builds)
		}
		if err := damage(folder); err != nil {
			t.Fatal(err)
		}
		if _, cached := get(); cached || builds != 2 {
			t.Errorf("%s: built %d times, cached: %v", name, builds, cached)
		}
		if text, err := os.ReadFile(filepath.Join(folder, "a.so")); err != nil || string(text) != "whole" {
			t.Errorf("%s: the library is %q, %v", name, text, err)
		}
	}
}

// A full disk does not count as a missing toolchain.
func TestFullDiskOfTheCache(t *testing.T) {
	err := cache{"/cache"}.unusable(&os.PathError{Op: "mkdir", Path: "/cache", Err: syscall.ENOSPC})
	var missing *backend.Unavailable
	if trouble := hosttrouble.Of(err); errors.As(err, &missing) || trouble == nil ||
		!strings.Contains(trouble.Sentence, "no space left") {
		t.Errorf("%T %v", err, err)
	}
	err = compileFailure(context.Background(), syscall.ENOSPC, "k.cu", "")
	if hosttrouble.Of(err) == nil {
		t.Errorf("%T %v", err, err)
	}
}
