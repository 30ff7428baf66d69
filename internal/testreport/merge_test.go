package main

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Two writers at once, each with lines longer than a pipe takes in one piece: every line arrives whole.
func TestMergeKeepsLinesWhole(t *testing.T) {
	const lines, long = 200, 20000
	folder := t.TempDir()
	var pipes []string
	for _, name := range []string{"a", "b"} {
		pipe := filepath.Join(folder, name)
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
		pipes = append(pipes, pipe)
		go func() {
			file, err := os.OpenFile(pipe, os.O_WRONLY, 0)
			if err != nil {
				t.Error(err)
				return
			}
			defer file.Close()
			for range lines {
				half := strings.Repeat(name, long/2)
				for _, piece := range []string{half, half + "\n"} {
					if _, err := io.WriteString(file, piece); err != nil {
						t.Error(err)
						return
					}
				}
			}
		}()
	}
	in, out := io.Pipe()
	go func() { out.CloseWithError(merge(out, pipes)) }()
	seen := map[string]int{}
	read := bufio.NewScanner(in)
	for read.Scan() {
		line := read.Text()
		if line != strings.Repeat(line[:1], long) {
			t.Fatalf("a line of %d bytes: %.20q", len(line), line)
		}
		seen[line[:1]]++
	}
	if err := read.Err(); err != nil || seen["a"] != lines || seen["b"] != lines {
		t.Errorf("%v lines, %v; want %d of each", seen, err, lines)
	}
}

// A last line without an end does not join the next one, and a file that is not there is an error.
func TestMergeOfCutOffFiles(t *testing.T) {
	var out strings.Builder
	if err := merge(&out, []string{written(t, "one\ntwo")}); err != nil || out.String() != "one\ntwo\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
	if err := merge(io.Discard, []string{filepath.Join(t.TempDir(), "missing")}); err == nil {
		t.Error("a file that is missing is no error")
	}
}
