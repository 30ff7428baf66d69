package advice

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// IntegerDivision is a division 1 / n of integers in a CUDA file: its result is 0 where n is more than 1.
type IntegerDivision struct {
	Line    int
	Divisor string
}

var (
	oneBy        = regexp.MustCompile(`(?:^|[^\w.)\]])1\s*/\s*([A-Za-z_]\w*)\b\s*([(\[.]?)`)
	integerNamed = regexp.MustCompile(`\b(?:unsigned|long|size_t|u?int(?:32_t|64_t)?)\s+([A-Za-z_]\w*)`)
	comment      = regexp.MustCompile(`//[^\n]*`)
)

// IntegerDivisions lists the divisions of 1 by a variable that the file declares as an integer, and as
// nothing else.
func IntegerDivisions(text string) []IntegerDivision {
	text = comment.ReplaceAllString(text, "")
	var integers []string
	for _, m := range integerNamed.FindAllStringSubmatch(text, -1) {
		integers = append(integers, m[1])
	}
	var all []IntegerDivision
	for _, at := range oneBy.FindAllStringSubmatchIndex(text, -1) {
		name, after := text[at[2]:at[3]], text[at[4]:at[5]]
		otherwise := regexp.MustCompile(`\b(?:float|double|half|auto|T)\s+` + name + `\b`)
		if after == "" && slices.Contains(integers, name) && !otherwise.MatchString(text) {
			all = append(all, IntegerDivision{1 + strings.Count(text[:at[2]], "\n"), name})
		}
	}
	return all
}

func (d IntegerDivision) sentence() string {
	return fmt.Sprintf("1 / %s divides integers, which gives 0 above 1: write 1.0f / %[1]s", d.Divisor)
}

// ofDivisions names such divisions.
func (f Facts) ofDivisions() []string {
	if !f.compared() || f.integers() {
		return nil
	}
	var words []string
	for _, d := range f.Divided {
		words = append(words, fmt.Sprintf("line %d: %s", d.Line, d.sentence()))
	}
	return words
}
