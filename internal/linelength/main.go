// Command linelength checks the width of the repository's lines: at most 110 columns in Go and Python, 120 in
// Markdown, with a tab counted as four. Tables, fenced code in Markdown and a line of one word may be wider.
package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"triad/internal/subprocess"
)

// widest is the maximum width of a line by the ending of its file, in columns.
var widest = map[string]int{".go": 110, ".py": 110, ".md": 120}

func main() {
	wide, err := run()
	for _, file := range slices.Sorted(maps.Keys(wide)) {
		fmt.Printf("%s: lines %s are wider than %d columns: fold them\n", file,
			strings.Trim(fmt.Sprint(wide[file]), "[]"), widest[path.Ext(file)])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "linelength:", err)
	}
	if err != nil || len(wide) > 0 {
		os.Exit(1)
	}
}

// run returns the numbers of the lines that are too wide, by file of the current repository.
func run() (map[string][]int, error) {
	out, err := subprocess.Run(context.Background(), subprocess.Command{
		Path: "git", Args: []string{"ls-files", "--cached", "--others", "--exclude-standard", "-z"},
	})
	if err != nil {
		return nil, fmt.Errorf("list the files of the repository: %w", err)
	}
	found := map[string][]int{}
	for _, file := range strings.Split(strings.TrimRight(out, "\x00"), "\x00") {
		if widest[path.Ext(file)] == 0 || strings.Contains(file, "testdata/") {
			continue
		}
		text, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			continue // git still knows a file that was deleted
		}
		if err != nil {
			return nil, err
		}
		if wide := wideLines(path.Ext(file), string(text)); len(wide) > 0 {
			found[file] = wide
		}
	}
	return found, nil
}

// wideLines returns the numbers of the lines that are too wide, from 1.
func wideLines(ending, text string) []int {
	var wide []int
	code := false
	for i, line := range strings.Split(text, "\n") {
		content := strings.TrimSpace(line)
		if ending == ".md" {
			if strings.HasPrefix(content, "```") {
				code = !code
			}
			if code || strings.HasPrefix(content, "|") {
				continue
			}
		}
		if columns(line) > widest[ending] && strings.Contains(content, " ") {
			wide = append(wide, i+1)
		}
	}
	return wide
}

// columns returns the width of a line.
func columns(line string) int { return utf8.RuneCountInString(line) + 3*strings.Count(line, "\t") }
