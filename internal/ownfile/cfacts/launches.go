package cfacts

import (
	"slices"

	"triad/internal/op"
)

// ConfigurationEnd returns the index of the >>> of a <<<; the number of tokens without one.
func ConfigurationEnd(tokens []Token, at int) int {
	for at < len(tokens) && tokens[at].Text != ">>>" {
		at++
	}
	return at
}

// LaunchedName returns the name before <<<, without template arguments.
func LaunchedName(tokens []Token, at int) string {
	i := at - 1
	if i >= 0 && tokens[i].Text == ">" {
		for depth := 0; i >= 0; i-- {
			switch tokens[i].Text {
			case ">":
				depth++
			case "<":
				depth--
			}
			if depth == 0 {
				i--
				break
			}
		}
	}
	if i < 0 {
		return ""
	}
	return tokens[i].Text
}

// LaunchedArguments returns the template arguments with which main() launches a kernel; none if one is
// neither a type nor a number.
func (f *File) LaunchedArguments(fn Function) []string {
	run := f.Observed()
	if run == nil {
		return nil
	}
	l := run.FirstLaunch(LastName(fn.Name), len(fn.Params))
	if l == nil || slices.Contains(l.Template(), "?") {
		return nil
	}
	return l.Template()
}

// Instantiated returns the dtypes for which the file explicitly instantiates a template, "template void
// softmax<float>(...);", since it is not written for others. It returns none if there are none.
func (f *File) Instantiated(fn Function) (all []op.DType) {
	name := LastName(fn.Name)
	for i := 0; i+3 < len(f.Tokens); i++ {
		if f.Tokens[i].Text != "template" || f.Tokens[i+1].Text == "<" {
			continue
		}
		for k := i + 1; k+2 < len(f.Tokens) && f.Tokens[k].Text != ";" && f.Tokens[k].Text != "("; k++ {
			d, known := ElementTypes[f.Resolve(f.Tokens[k+2].Text)]
			if known && TextsAt(f.Tokens, k, name, "<") {
				all = append(all, d)
			}
		}
	}
	return all
}
