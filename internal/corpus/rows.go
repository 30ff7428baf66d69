package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"

	"triad/internal/judgeloop"
	"triad/internal/op"
)

// A row keeps the outcome of one solution, and none of its text.
type row struct {
	Run       string   `json:"run"`
	SHA256    string   `json:"sha256"`
	Deck      string   `json:"deck"`
	Problem   string   `json:"problem"`
	Card      string   `json:"card"` // that it was written for
	Label     string   `json:"label"`
	Unseen    string   `json:"unseen"` // what the audit objects to, if no source can show it
	HeldOut   bool     `json:"held_out"`
	Device    string   `json:"device"`
	Verdict   string   `json:"verdict"` // one of those below
	Status    string   `json:"status"`  // of the case that decides
	Reason    string   `json:"reason"`
	Sizes     string   `json:"sizes"`
	Good      int      `json:"good"` // cases
	Neutral   int      `json:"neutral"`
	Bad       int      `json:"bad"`
	Own       *int     `json:"own_kernels"` // that one call ran; null if they are not known
	Libraries []string `json:"libraries"`   // other kernels, the first ones
	Judge     string   `json:"judge"`       // the version of the judge
	Seconds   float64  `json:"seconds"`
	Commit    string   `json:"commit"`  // of the clone
	Program   string   `json:"program"` // the hash of triad
}

// The verdicts: accused is a bad status, passed a good one without a bad one, and not judged neither.
const (
	accused   = "accused"
	passed    = "passed"
	looser    = "another contract" // right under the looser contract of its hardware
	notJudged = "not judged"
	notRun    = "not run"
)

// of fills in a row from a result. A solution that was written for another card may not run here, and is
// accused by a wrong answer alone: here reports whether it was written for this one. Nor does a call that
// runs into the time limit accuse: the limit is ours, compilers run in it, and others share the processors.
func (r *row) of(x *judgeloop.Result, text string, here bool) {
	r.Status, r.Good, r.Neutral, r.Bad, r.Judge = x.Verdict, x.Good, x.Neutral, x.Bad, x.Judge
	r.Seconds = float64(int(x.Seconds*1000)) / 1000
	answered := slices.ContainsFunc(x.Wrong, func(c judgeloop.Case) bool { return c.Gate != "" })
	here = here && !lacks.MatchString(x.Message) && x.Verdict != op.StatusHang.String()
	switch {
	case x.Bad > 0 && (answered || here):
		r.Verdict = accused
	case x.Right:
		r.Verdict = passed
	case x.Bad == 0 && x.Verdict == op.StatusDifferentContract.String():
		r.Verdict = looser
	default:
		r.Verdict = notJudged
	}
	if r.Verdict != passed {
		r.Reason = reason(x)
	}
	r.kernels(x.Kernels, text)
}

// lacks finds in a message that the solution needs a package, program or header that is not here.
// Nor has it anything to say here if its weights are not the problem's: the deck was another one then.
var lacks = regexp.MustCompile(`ModuleNotFoundError|FileNotFoundError|No such file or directory|` + otherDeck)

// otherDeck begins torch's message on weights of other names or shapes.
const otherDeck = `loading state_dict`

// raised finds the type of an exception in a message; what follows may be a stranger's text.
var raised = regexp.MustCompile(`\b([A-Z]\w*(?:Error|Exception|Interrupt))\b`)

// namesTensor finds the name of a parameter of the solution in a sentence, place the line before it.
var (
	namesTensor = regexp.MustCompile(`\bof \w+, which`)
	place       = regexp.MustCompile(`^[^:]*:\d+: `)
)

// reason explains the result of a solution, without its text.
func reason(x *judgeloop.Result) string {
	if len(x.Wrong) > 0 && x.Wrong[0].Gate != "" {
		c := x.Wrong[0]
		return fmt.Sprintf("%s (%s) at %s", c.Message, c.Gate, c.Case)
	}
	message := x.Message
	if strings.Contains(message, otherDeck) {
		return "its weights are not those of the problem: it was written for an earlier one"
	}
	if found := raised.FindString(message); found != "" {
		return "it raises " + found
	}
	return namesTensor.ReplaceAllString(place.ReplaceAllString(message, ""), "of a tensor, which")
}

// mostLibraries limits the names of a row.
const mostLibraries = 6

// kernels counts the kernels of the solution's own that one call ran, and names the others. One is its own if
// its text, without comments, defines it: its name stands there as that of a function, or the name of the
// library of templates that it was made from. On a processor, where nothing that compiles is run, Triton's
// are the only ones of its own, and all are listed.
func (r *row) kernels(names []string, text string) {
	own, known := 0, r.Device == "cpu" && len(names) > 0
	text = withoutComments(text)
	for _, name := range names {
		kind, name, _ := strings.Cut(name, " ")
		if kind != "kernel" && kind != "triton" { // an operation of torch
			continue
		}
		known = true
		if scope, base := qualified(name); kind == "triton" || hasWord(text, base, `\s*[(<]`) ||
			slices.Contains(templates, scope) && hasWord(text, scope, "") {
			own++
		} else if !slices.Contains(r.Libraries, base) {
			r.Libraries = append(r.Libraries, base)
		}
	}
	if known {
		r.Own = &own
	}
	slices.Sort(r.Libraries)
	r.Libraries = r.Libraries[:min(len(r.Libraries), mostLibraries)]
}

// templates are libraries whose kernels are compiled with the solution.
var templates = []string{"cutlass", "cub", "cute", "thrust"}

// qualified returns the outermost namespace of a kernel, and its name without namespaces, arguments and the
// type that it returns.
func qualified(name string) (scope, base string) {
	var plain strings.Builder
	depth := 0
	for _, c := range strings.ReplaceAll(name, "(anonymous namespace)::", "") {
		switch {
		case c == '<':
			depth++
		case c == '>':
			depth--
		case depth == 0:
			plain.WriteRune(c)
		}
	}
	signature, _, _ := strings.Cut(plain.String(), "(")
	words := strings.Split(signature[strings.LastIndexByte(signature, ' ')+1:], "::")
	return words[0], words[len(words)-1]
}

// hasWord reports whether a word stands in a text, and after it what the pattern next matches.
func hasWord(text, word, next string) bool {
	return word != "" && regexp.MustCompile(`\b`+regexp.QuoteMeta(word)+`\b`+next).MatchString(text)
}

func readRows(path string) ([]row, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []row
	for line := range strings.Lines(string(text)) {
		var r row
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return nil, fmt.Errorf("%s: line %d is no row: %w", path, len(all)+1, err)
		}
		all = append(all, r)
	}
	return all, nil
}

func appendRow(path string, r *row) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	text, err := json.Marshal(r)
	if err == nil {
		_, err = f.Write(append(text, '\n'))
	}
	return errors.Join(err, f.Close())
}
