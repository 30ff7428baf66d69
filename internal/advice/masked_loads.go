package advice

import (
	"fmt"
	"regexp"
	"strings"

	"triad/internal/op"
)

// MaskedLoad is a call of tl.load with a mask, in a kernel that combines lanes.
type MaskedLoad struct {
	Line  int
	Other string // the value of lanes outside the mask; "" if unspecified, so that they hold anything
}

var (
	kernelBegins = regexp.MustCompile(`(?m)^([ \t]*)def\s+\w+\s*\(`)
	load         = regexp.MustCompile(`\b(?:tl|triton\.language)\.load\s*\(`)
	// combines matches reductions of several lanes to one value.
	combines = regexp.MustCompile(`\b(?:tl|triton\.language)\.` +
		`(?:sum|max|min|argmax|argmin|xor_sum|reduce|dot|cumsum|cumprod|associative_scan|sort|softmax)` +
		`\s*\(|` +
		`\.(?:sum|max|min)\(`)
	keyword = regexp.MustCompile(`^\s*(\w+)\s*=([^=].*)$`)
)

// MaskedLoads lists the masked loads of a Python file, in the functions that combine lanes: if each lane is
// independent, the values of those outside the mask reach no output.
func MaskedLoads(text string) []MaskedLoad {
	var all []MaskedLoad
	begins := kernelBegins.FindAllStringIndex(text, -1)
	for i, at := range begins {
		end := len(text)
		if i+1 < len(begins) {
			end = begins[i+1][0]
		}
		body := text[at[0]:end]
		if !combines.MatchString(body) {
			continue
		}
		for _, call := range load.FindAllStringIndex(body, -1) {
			before := body[strings.LastIndexByte(body[:call[0]], '\n')+1 : call[0]]
			if strings.Contains(before, "#") {
				continue
			}
			arguments := argumentsOf(body[call[1]:])
			if mask, other := arguments["mask"], arguments["other"]; mask != "" && mask != "None" {
				all = append(all, MaskedLoad{1 + strings.Count(text[:at[0]+call[0]], "\n"), other})
			}
		}
	}
	return all
}

// argumentsOf reads the arguments of a call of tl.load after its bracket, by name. Comments end a line.
func argumentsOf(text string) map[string]string {
	byName := map[string]string{}
	depth, begin, comment := 0, 0, false
	var kept []byte
	take := func() {
		word := strings.TrimSpace(string(kept[begin:]))
		name := []string{"pointer", "mask", "other"}[min(len(byName), 2)]
		if m := keyword.FindStringSubmatch(strings.ReplaceAll(word, "\n", " ")); m != nil {
			name, word = m[1], strings.TrimSpace(m[2])
		}
		byName[name] = word
		begin = len(kept)
	}
	for i := range len(text) {
		c := text[i]
		comment = c == '#' || comment && c != '\n'
		switch {
		case comment:
			continue
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		}
		if depth < 0 || depth == 0 && c == ',' {
			if take(); depth < 0 {
				break
			}
			continue
		}
		kept = append(kept, c)
	}
	return byName
}

// ofMasks names the masked loads that may be to blame: all of them if only whole blocks are right, else those
// that do not specify the values of lanes outside the mask.
func (f Facts) ofMasks() []string {
	var words []string
	for _, m := range f.Masks {
		switch {
		case f.OrdinaryPasses || !f.compared():
		case m.Other == "":
			words = append(words, fmt.Sprintf("line %d: tl.load has a mask without other, so lanes outside "+
				"the mask hold anything", m.Line))
		case f.PowersOfTwo || f.FullBlock > 0 || f.Multiple > 0:
			words = append(words, fmt.Sprintf("line %d: tl.load gives lanes outside the mask other=%s",
				m.Line, m.Other))
		}
	}
	if len(words) > 0 {
		words = append(words, "give other the value that changes nothing: -float(\"inf\") for a maximum and "+
			"before exp, 0 for a sum; or replace those lanes with tl.where(mask, ...) before they are "+
			"combined")
	}
	return words
}

// compared reports whether values were compared, so that they may be wrong because of what lanes hold.
func (f Facts) compared() bool { return f.Status == op.StatusFail || f.Status == op.StatusRace }
