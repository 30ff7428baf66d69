// Command publicfiles runs triad on public kernel files: those of a batch of the manifest
// (cmd/triad/testdata/public/files.csv) that lie in a folder, a repository checked out as FOLDER/OWNER+NAME,
// with the bytes that the manifest names. It prints the outcome of each and its time; -write writes them into
// the manifest.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// manifestFile is the manifest, from the root of the repository.
const manifestFile = "cmd/triad/testdata/public/files.csv"

func main() {
	folder := flag.String("folder", "", "the folder of the repositories, each as OWNER+NAME")
	batch := flag.String("batch", "", "the batch to ask about; empty: every file that is there")
	program := flag.String("triad", "build/triad", "the program")
	logs := flag.String("logs", "build/public", "a folder for triad's output on each file, and its database")
	limit := flag.Duration("limit", 100*time.Second, "how long a file may take")
	again := flag.Bool("flags", false, "ask about the files that have flags in the manifest, with these")
	write := flag.Bool("write", false, "put what was given into the manifest")
	flag.Parse()
	if *folder == "" || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "usage: publicfiles -folder FOLDER [-batch NAME] [-flags] [-write]")
		os.Exit(2)
	}
	a := asker{triad: *program, folder: *folder, database: filepath.Join(*logs, "results.db"), limit: *limit}
	if err := measure(a, *batch, *logs, *again, *write); err != nil {
		fmt.Fprintln(os.Stderr, "publicfiles:", err)
		os.Exit(1)
	}
}

// measure runs triad on each file of a batch and keeps the answers.
func measure(a asker, batch, logs string, again, write bool) error {
	text, err := os.ReadFile(manifestFile)
	if err != nil {
		return fmt.Errorf("read the manifest, in the root of the repository: %w", err)
	}
	files, err := readManifest(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("%s: %w", manifestFile, err)
	}
	if err := os.MkdirAll(logs, 0o755); err != nil {
		return err
	}
	asked := 0
	for _, f := range files {
		if batch != "" && f.batch != batch || again && f.flags == "" || !a.isThere(f) {
			continue
		}
		asked++
		if err := askAndKeep(a, f, logs, again); err != nil {
			return err
		}
	}
	if asked == 0 {
		return fmt.Errorf("no file of the batch %q lies in %s with the bytes that the manifest names", batch,
			a.folder)
	}
	if !write {
		return nil
	}
	var out bytes.Buffer
	if err := writeManifest(&out, files); err != nil {
		return err
	}
	return os.WriteFile(manifestFile, out.Bytes(), 0o644)
}

// askAndKeep runs triad on one file, prints the outcome, and writes the output into a log file.
func askAndKeep(a asker, f *public, logs string, again bool) error {
	var flags []string
	if again {
		words, lines, err := splitFlags(f.flags)
		if err == nil && len(lines) > 0 {
			var remove func()
			if a, remove, err = a.withLines(f, lines); remove != nil {
				defer remove()
			}
		}
		if err != nil {
			fmt.Printf("%-30s %8s  %s %s/%s: %v\n", "not asked", "", f.operator, f.repository, f.path, err)
			return nil
		}
		flags = words
	}
	given, seconds, output, err := a.ask(context.Background(), f, flags)
	if err != nil {
		return err
	}
	if again {
		f.withFlags = given
	} else {
		f.given, f.seconds = given, seconds
	}
	fmt.Printf("%-30s %6.1f s  %s %s/%s\n", given, seconds, f.operator, f.repository, f.path)
	name := strings.ReplaceAll(f.repository+"/"+f.path, "/", "+") + ".txt"
	return os.WriteFile(filepath.Join(logs, name), []byte(output), 0o644)
}
