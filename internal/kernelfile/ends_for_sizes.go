package kernelfile

import (
	"slices"
	"strconv"

	"triad/internal/ownfile/cfacts"
)

// endings lists the functions that end the process.
var endings = []string{"exit", "abort", "_Exit", "quick_exit"}

// EndsForSizes reports whether a host function ends the process under a condition on one of its sizes, before
// it does anything with its tensors: so it rejects sizes that it is not written for.
func (b *Binding) EndsForSizes() bool {
	ends, _ := b.sizesAskedFor()
	return ends
}

// sizesAskedFor reads the conditions on sizes under which the lines of a host function end the process,
// return or throw, "if (cols != 1024) exit(1)": ends says that one ends the process, sizes are those that
// are compared with a number.
func (b *Binding) sizesAskedFor() (ends bool, sizes map[string]int64) {
	sizes = map[string]int64{}
	if b.Function.Kind != cfacts.Host {
		return false, sizes
	}
	body := b.Function.Body
	sizeOf := func(name string) string {
		for _, a := range b.Args {
			if a.Name == name && a.Role == Size && len(dimsOf(a.Target)) == 1 {
				return a.Target
			}
		}
		return ""
	}
	for i := 0; i+1 < len(body) && body[i].Text != "<<<"; i++ {
		if body[i].Text != "if" || body[i+1].Text != "(" {
			continue
		}
		condition, close := cfacts.Inside(body, i+1), cfacts.Closing(body, i+1)
		asks := slices.ContainsFunc(condition, func(t cfacts.Token) bool { return sizeOf(t.Text) != "" })
		under := statementAt(body, close+1)
		is := func(words ...string) bool {
			return slices.ContainsFunc(under, func(t cfacts.Token) bool {
				return slices.Contains(words,
					t.Text)
			})
		}
		if !asks || is("<<<") {
			continue
		}
		ends = ends || is(endings...)
		if !is(endings...) && !is("return", "throw") || len(condition) != 3 {
			continue
		}
		n, err := strconv.ParseInt(condition[2].Text, 10, 64)
		if _, value, named := constantNamed(b.file, condition[2].Text); named {
			n, err = value, nil
		}
		if dim := sizeOf(condition[0].Text); dim != "" && condition[1].Text == "!=" && err == nil && n > 0 {
			sizes[dim] = n
		}
	}
	return ends, sizes
}

// statementAt returns the tokens of the statement at a place: those of a block, or up to a semicolon.
func statementAt(body []cfacts.Token, at int) []cfacts.Token {
	if at >= len(body) {
		return nil
	}
	if body[at].Text == "{" {
		return cfacts.Inside(body, at)
	}
	end := at
	for end < len(body) && body[end].Text != ";" {
		end++
	}
	return body[at:end]
}
