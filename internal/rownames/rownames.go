// Package rownames reads from the sources of an operator which implementations it may have, without building
// or starting anything.
package rownames

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"triad/internal/op"
)

// Families are those whose names the sources tell.
var Families = slices.Concat([]string{"cuda", "triton", "torch", "cutile"}, op.PeerFamilies)

var (
	registration = regexp.MustCompile(`TRIAD_KERNEL\(\s*(\w+),\s*(\w+)`)
	pythonRow    = regexp.MustCompile(`^\(\s*"([a-z0-9_]+/[a-z0-9_]+)"`)
	row          = regexp.MustCompile(`\b(?:` + strings.Join(Families[1:], "|") + `)/[a-z0-9_]+\b`)
	shared       = regexp.MustCompile(`(?m)^from (\w+) import`)
)

// Of returns the names of the implementations of an operator, each of them and perhaps some more: a row that
// its Python file mentions, or a module of triad's own that it imports, counts as one of its own.
func Of(sources fs.FS, operator string) []string {
	var names []string
	if text, err := fs.ReadFile(sources, "cuda/kernels/"+operator+".cu"); err == nil {
		for _, m := range registration.FindAllSubmatch(text, -1) {
			if string(m[1]) == operator {
				names = append(names, "cuda/"+string(m[2]))
			}
		}
	}
	for _, ending := range []string{".py", "_cutile.py"} {
		text, err := fs.ReadFile(sources, "triton/"+operator+ending)
		if err != nil {
			continue
		}
		rows := row.FindAllString(string(text), -1)
		for _, m := range shared.FindAllSubmatch(text, -1) {
			if module, err := fs.ReadFile(sources, "pybridge/operators/"+string(m[1])+".py"); err == nil {
				rows = append(rows, row.FindAllString(string(module), -1)...)
			}
		}
		slices.Sort(rows)
		names = append(names, rows...)
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(names, func(name string) bool {
		twice := seen[name]
		seen[name] = true
		return twice
	})
}

// Spread returns the names of the implementations of an operator whose calls are spread over two GPUs: those
// with one of the prefixes, without prefixes all.
func Spread(sources fs.FS, operator string, prefixes []string) (names []string) {
	add := func(name string) {
		asked := len(prefixes) == 0 || slices.ContainsFunc(prefixes, func(prefix string) bool {
			return strings.HasPrefix(name, prefix)
		})
		if asked && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, one := range after(sources, "cuda/kernels/"+operator+".cu", "TRIAD_KERNEL") {
		m := registration.FindStringSubmatch("TRIAD_KERNEL" + one)
		if m != nil && m[1] == operator && strings.Contains(one, ".devices(2)") {
			add("cuda/" + m[2])
		}
	}
	for _, one := range after(sources, "triton/"+operator+".py", "Implementation") {
		if m := pythonRow.FindStringSubmatch(one); m != nil && strings.Contains(one, "devices=2") {
			add(m[1])
		}
	}
	return names
}

// after returns the parts of a file that follow a word, each up to the next; none where there is no file.
func after(sources fs.FS, file, word string) []string {
	text, err := fs.ReadFile(sources, file)
	if err != nil {
		return nil
	}
	return strings.Split(string(text), word)[1:]
}

// Absent is a prefix that no implementation of an operator can match, and the names of its family.
type Absent struct {
	Prefix string
	Have   []string
}

// Missing returns the prefixes that no implementation of the operator can match, but those of families of
// which the sources tell no name.
func Missing(sources fs.FS, operator string, prefixes []string) (missing []Absent) {
	names := Of(sources, operator)
	for _, prefix := range prefixes {
		family, _, _ := strings.Cut(prefix, "/")
		if !slices.Contains(Families, family) || prefix == family {
			continue
		}
		var have []string
		matched := false
		for _, name := range names {
			matched = matched || strings.HasPrefix(name, prefix)
			if strings.HasPrefix(name, family+"/") {
				have = append(have, name)
			}
		}
		if !matched && len(have) > 0 {
			missing = append(missing, Absent{prefix, have})
		}
	}
	return missing
}
