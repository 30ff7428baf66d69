package advice

import (
	"regexp"
	"strings"

	"triad/internal/op"
)

var (
	sumInFormula = regexp.MustCompile(`\b(?:sum|mean)_[a-z]\w* [^;,()]*`)
	addsUp       = regexp.MustCompile(`\b(?:sum|mean|einsum|matmul|mm|bmm|dot|norm|cumsum|vecdot|inner|` +
		`atomic_add)\b|@\s*\w|\+=`)
	backwardOf = regexp.MustCompile(`(?m)^([ \t]*)def backward\(.*\n`)
)

// AddsNothingUp reports whether the backward of an autograd function, in a Python file, has code of its own
// that adds nothing up: it calls no other function of the file, and no sum, mean or product of matrices.
func AddsNothingUp(text string) bool {
	at := backwardOf.FindStringSubmatchIndex(text)
	if at == nil {
		return false
	}
	indent, body := text[at[2]:at[3]], text[at[1]:]
	var lines []string
	for line := range strings.Lines(body) {
		if strings.TrimSpace(line) != "" && !strings.HasPrefix(line, indent+" ") && !strings.HasPrefix(line,
			indent+"\t") {
			break
		}
		code, _, _ := strings.Cut(line, "#")
		lines = append(lines, code)
	}
	code := strings.Join(lines, "")
	for _, m := range kernelBegins.FindAllStringIndex(text, -1) {
		name := strings.Fields(strings.NewReplacer("def", " ", "(", " ").Replace(text[m[0]:m[1]]))[0]
		if strings.Contains(code, name+"(") || strings.Contains(code, name+"[") {
			return false
		}
	}
	return !addsUp.MatchString(code)
}

// missingSum returns the sum of a gradient's formula if the function adds nothing up; "" otherwise.
func (f Facts) missingSum() string {
	if !f.NoSum || f.Pass != op.Backward || f.Status != op.StatusFail {
		return ""
	}
	return strings.TrimSpace(sumInFormula.FindString(f.Formula))
}
