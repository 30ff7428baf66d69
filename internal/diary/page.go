package diary

import (
	"fmt"
	"strings"
)

// The lines of a page between which the diary stands.
const (
	Begin = "<!-- triad diary: begin -->"
	End   = "<!-- triad diary: end -->"
)

// Into returns a page with what stands between the two marks replaced.
func Into(page, table string) (string, error) {
	begins, ends := linesThatAre(page, Begin), linesThatAre(page, End)
	if len(begins) != 1 || len(ends) != 1 || ends[0].from < begins[0].to {
		return "", fmt.Errorf("want the lines %s and %s once, in this order: put them where the diary "+
			"belongs", Begin, End)
	}
	newline := "\n"
	if strings.HasSuffix(page[:begins[0].to], "\r\n") {
		newline = "\r\n"
	}
	table = strings.ReplaceAll(strings.TrimSpace(table)+"\n", "\n", newline)
	return page[:begins[0].to] + newline + table + newline + page[ends[0].from:], nil
}

// span is a line of a page, with its end.
type span struct{ from, to int }

// linesThatAre returns the lines of a page that consist of a text.
func linesThatAre(page, text string) []span {
	var found []span
	at := 0
	for line := range strings.Lines(page) {
		if strings.TrimSpace(line) == text {
			found = append(found, span{at, at + len(line)})
		}
		at += len(line)
	}
	return found
}
