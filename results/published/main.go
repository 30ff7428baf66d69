// Command published makes the tables of the published session from its JSON.
//
//	go run ./results/published           writes every table of docs/performance.md and of
//	                                     results/published/README.md anew
//	go run ./results/published FOLDER    takes the exports and figures of record.sh from FOLDER into
//	                                     results/published/h200 first
//
// A table stands between <!-- begin: NAME --> and <!-- end: NAME -->. A test compares the tables with the
// JSON.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// data is the folder of the published JSON, pages are the files with its tables; both below the root of the
// sources.
const data = "results/published/h200"

var pages = []string{"docs/performance.md", "results/published/README.md"}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "published: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	root, err := sources()
	if err != nil {
		return err
	}
	switch len(args) {
	case 0:
	case 1:
		if err := take(args[0], filepath.Join(root, data)); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%d arguments: want the folder that record.sh wrote", len(args))
	}
	s, err := readAll(root)
	if err != nil {
		return err
	}
	for _, page := range pages {
		path := filepath.Join(root, page)
		text, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("read a page: %w", err)
		}
		filled, err := fill(string(text), tables(s))
		if err != nil {
			return fmt.Errorf("%s: %w", page, err)
		}
		if err := os.WriteFile(path, []byte(filled), 0o644); err != nil {
			return fmt.Errorf("write a page: %w", err)
		}
	}
	return nil
}

// sources returns the root of the sources: the folder above this one, or above the working directory, that
// holds go.mod.
func sources() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the sources: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("no go.mod in this folder or above it: call it from the sources")
		}
		dir = parent
	}
}
