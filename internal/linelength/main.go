// Command linelength checks how wide the lines of the repository are: at most 110 columns in Go and Python,
// 120 in Markdown, a tab counted as four. Tables, blocks of code in Markdown and a line of one word may be
// wider. A list says which files are still wider and in how many lines. It shrinks: no file joins it, and
// none on it grows.
package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"triad/internal/subprocess"
)

// widest is the width of a line by the ending of its file, in columns.
var widest = map[string]int{".go": 110, ".py": 110, ".md": 120}

func main() {
	list := flag.String("list", "", "the files that are still wider, each with the number of such lines")
	update := flag.Bool("update", false,
		"write the list anew; it fails where a file has more such lines than before")
	flag.Parse()
	complaints, err := run(*list, *update)
	for _, c := range complaints {
		fmt.Println(c)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "linelength:", err)
	}
	if err != nil || len(complaints) > 0 {
		os.Exit(1)
	}
}

// run gives a sentence for every file that is wider than its list allows, and for every entry that need not
// be there.
func run(list string, update bool) ([]string, error) {
	allowed, err := readList(list)
	if err != nil {
		return nil, err
	}
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
	complaints := compare(found, allowed)
	if update {
		complaints = slices.DeleteFunc(complaints, func(c string) bool { return strings.Contains(c, listed) })
		if len(complaints) == 0 {
			return nil, os.WriteFile(list, []byte(written(found)), 0o644)
		}
	}
	return complaints, nil
}

// wideLines gives the numbers of the lines that are too wide, from 1.
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

// columns is the width of a line.
func columns(line string) int { return utf8.RuneCountInString(line) + 3*strings.Count(line, "\t") }

// listed is part of the complaints that a new list answers.
const listed = "in the list"

// compare says where the wide lines of files and the list do not agree.
func compare(found map[string][]int, allowed map[string]int) []string {
	var complaints []string
	for _, file := range slices.Sorted(maps.Keys(found)) {
		wide, most := found[file], allowed[file]
		if len(wide) > most {
			complaints = append(complaints,
				fmt.Sprintf("%s: %d lines are wider than %d columns, at most %d may be; the last are %v",
					file, len(wide), widest[path.Ext(file)], most, wide[max(0, len(wide)-5):]))
		}
	}
	for _, file := range slices.Sorted(maps.Keys(allowed)) {
		if len(found[file]) == 0 {
			complaints = append(complaints,
				fmt.Sprintf("%s: no line is too wide, %d are %s: run make lint-list",
					file, allowed[file], listed))
		}
	}
	return complaints
}

// readList reads lines of a number and a file; # begins a comment.
func readList(list string) (map[string]int, error) {
	text, err := os.ReadFile(list)
	if err != nil {
		return nil, fmt.Errorf("read the list of files with wide lines: %w", err)
	}
	allowed := map[string]int{}
	for i, line := range strings.Split(string(text), "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		n, err := 0, error(nil)
		if len(words) == 2 {
			n, err = strconv.Atoi(words[0])
		}
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%s:%d: %q: want a number of lines and a file", list, i+1, line)
		}
		allowed[words[1]] = n
	}
	return allowed, nil
}

func written(found map[string][]int) string {
	var b strings.Builder
	b.WriteString("# The files with lines wider than 110 columns (Go, Python) or 120 (Markdown), and how " +
		"many: make lint-list\n")
	for _, file := range slices.Sorted(maps.Keys(found)) {
		fmt.Fprintf(&b, "%4d %s\n", len(found[file]), file)
	}
	return b.String()
}
