package operatorguess

import (
	"regexp"
	"slices"
	"strings"

	"triad/internal/op"
)

// mathematics gives the functions of CUDA, Triton, torch and of formulas their common names.
var mathematics = map[string]string{
	"exp": "exp", "expf": "exp", "__expf": "exp", "exp2": "exp", "exp2f": "exp", "hexp": "exp",
	"sigmoid": "exp",
	"sqrt":    "sqrt", "sqrtf": "sqrt", "rsqrt": "sqrt", "rsqrtf": "sqrt", "__frsqrt_rn": "sqrt",
	"tanh": "tanh", "tanhf": "tanh", "erf": "erf", "erff": "erf",
	"log": "log", "logf": "log", "__logf": "log", "log2": "log", "ln": "log", "lse": "log",
	"logsumexp": "log",
	"cos":       "cos", "cosf": "cos", "__cosf": "cos", "sin": "sin", "sinf": "sin", "__sinf": "sin",
}

var (
	word     = regexp.MustCompile(`[A-Za-z_]\w*`)
	comments = regexp.MustCompile(`(?s)//[^\n]*|/\*.*?\*/|#[^\n]*|""".*?"""`)
)

// calledIn lists the functions of mathematics that a text names, sorted. An operator's name stands for
// those of its formula.
func calledIn(text string, specs []*op.Spec) []string {
	var all []string
	add := func(w string) bool {
		name := mathematics[strings.ToLower(w)]
		if name != "" && !slices.Contains(all, name) {
			all = append(all, name)
		}
		return name != ""
	}
	for _, w := range word.FindAllString(comments.ReplaceAllString(text, ""), -1) {
		if add(w) {
			continue
		}
		for _, s := range specs {
			if s.Name == strings.ToLower(w) && s.Formula != text {
				for _, of := range word.FindAllString(s.Formula, -1) {
					add(of)
				}
			}
		}
	}
	slices.Sort(all)
	return all
}
