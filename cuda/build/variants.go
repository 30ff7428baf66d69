package build

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// Variant is a variant of an operator as the header of its file describes it.
type Variant struct{ Name, Text string }

var (
	firstLine = regexp.MustCompile(`^//   ([a-z][a-z0-9_]*) +([^ ].*)$`)
	nextLine  = regexp.MustCompile(`^//      +([^ ].*)$`)
)

// Variants returns the variants that the comment at the top of an operator's kernel file describes after its
// source, in order. Descriptions of a variant in two places, a forward and a backward, are joined.
func Variants(files fs.FS, operator string) (all []Variant, err error) {
	text, err := fs.ReadFile(files, "cuda/kernels/"+operator+".cu")
	if err != nil {
		return nil, fmt.Errorf("read the kernels of %s: %w", operator, err)
	}
	var open *Variant // of the previous line
	begun := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		if !strings.HasPrefix(line, "//") {
			break
		}
		switch first, next := firstLine.FindStringSubmatch(line), nextLine.FindStringSubmatch(line); {
		case !begun:
			begun = strings.HasPrefix(line, "// Source ")
		case first != nil:
			at := slices.IndexFunc(all, func(r Variant) bool { return r.Name == first[1] })
			if at < 0 {
				at, all = len(all), append(all, Variant{Name: first[1]})
			} else {
				all[at].Text += "; "
			}
			open = &all[at]
			open.Text += first[2]
		case next != nil && open != nil:
			open.Text += " " + next[1]
		default:
			open = nil
		}
	}
	return all, nil
}
