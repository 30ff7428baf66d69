package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"triad/internal/panics"
)

// merge copies the lines of files to out as they come, each whole: go test writes long lines in pieces, so
// two of them cannot write to one pipe. The files may be named pipes, which are read at the same time.
func merge(out io.Writer, paths []string) error {
	var mu sync.Mutex
	var fault error
	var group panics.Group
	for _, path := range paths {
		group.Go(func() {
			err := eachLine(path, func(line []byte) error {
				mu.Lock()
				defer mu.Unlock()
				_, err := out.Write(line)
				return err
			})
			mu.Lock()
			defer mu.Unlock()
			fault = errors.Join(fault, err)
		})
	}
	return errors.Join(group.Wait(), fault)
}

// eachLine calls do with every line of a file, its end included; the last one gets an end.
func eachLine(path string, do func(line []byte) error) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("merge: %w", err)
	}
	defer file.Close()
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			if line[len(line)-1] != '\n' {
				line = append(line, '\n')
			}
			if err := do(line); err != nil {
				return fmt.Errorf("merge: %w", err)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("merge %s: %w", path, err)
		}
	}
}
