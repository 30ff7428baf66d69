package problem

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Check holds the answer of the format's own check of a submission:
// pybridge/problems/problem_check.py runs it.
type Check struct {
	Failed string `json:"failed"` // why it could not be run; "" where it was
	Passes bool   `json:"passes"`
	How    string `json:"how"`    // its trials and its tolerance
	Trials int    `json:"trials"` // how many calls it made, where it passes
	// Trial is the call whose answer it rejects, Why what was raised there, Element the value furthest off
	Trial   string   `json:"trial"`
	Why     string   `json:"why"`
	Element *element `json:"element"`
}

// element is a value that a format's check rejects, with the fp64 answer there and how far rounding in the
// operations of the reference may move it.
type element struct {
	Name  string  `json:"name"`
	Index []int64 `json:"index"`
	// Got, Want, Truth and ErrorBound are numbers in words, since they may be NaN or infinite.
	Got        string `json:"got"`
	Want       string `json:"want"`
	Truth      string `json:"truth"`
	ErrorBound string `json:"allowance"`
	Inside     bool   `json:"inside"`
}

// String returns "y[3,4]".
func (e *element) String() string {
	words := make([]string, len(e.Index))
	for i, at := range e.Index {
		words[i] = strconv.FormatInt(at, 10)
	}
	return e.Name + "[" + strings.Join(words, ",") + "]"
}

// ParseCheck reads what the process that ran the check printed.
func ParseCheck(text string) (*Check, error) {
	c := &Check{}
	if err := json.Unmarshal([]byte(text), c); err != nil {
		return nil, errors.New("it ended without an answer")
	}
	return c, nil
}

// Ours summarizes the verdicts of triad on the same submission.
type Ours struct {
	Judged  bool
	Wrong   bool
	Value   bool   // it is a value that is wrong
	Message string // of the first wrong case
}

// Sentence compares the results of both checks on a submission, and names the right one if they differ.
func (c *Check) Sentence(ours Ours) string {
	switch {
	case c.Failed != "":
		return "the format's own check could not be run: " + c.Failed
	case c.Passes && !ours.Wrong:
		return fmt.Sprintf("the format's own check (%s) accepts it in %s%s", c.How, calls(c.Trials),
			agreed(ours, ", and so does triad"))
	case c.Passes:
		why := "The format's check does not look for that"
		if ours.Value {
			why = "triad is right: no rounding in the operations of the reference explains that value"
		}
		return fmt.Sprintf("the format's own check (%s) accepts it in %s, and triad does not: %s. %s", c.How,
			calls(c.Trials), strings.TrimSuffix(ours.Message, "."), why)
	case ours.Wrong || !ours.Judged:
		return fmt.Sprintf("the format's own check (%s) rejects it, at %s: %s%s", c.How, c.Trial, c.what(),
			agreed(ours, "; so does triad"))
	}
	sentence := fmt.Sprintf("the format's own check (%s) rejects it, at %s: %s; triad accepts it", c.How,
		c.Trial, c.what())
	switch {
	case c.Element == nil || c.Element.Truth == "":
		return sentence + ", and compares its values alone"
	case c.Element.Inside:
		return sentence + fmt.Sprintf(". triad is right: the fp64 answer there is %s, and rounding in the "+
			"operations of the reference may move it by %s", c.Element.Truth, c.Element.ErrorBound)
	}
	return sentence + fmt.Sprintf(". The format's check is right: the fp64 answer there is %s, rounding may "+
		"move it by %s, and triad has judged no such call", c.Element.Truth, c.Element.ErrorBound)
}

// what describes what the check rejects.
func (c *Check) what() string {
	switch {
	case c.Element != nil:
		return fmt.Sprintf("%v is %s, and the reference gives %s", c.Element, c.Element.Got, c.Element.Want)
	case c.Why != "":
		return c.Why
	}
	return "the shape or the dtype of the answer"
}

func agreed(ours Ours, words string) string {
	if ours.Judged {
		return words
	}
	return "; triad has judged none of its cases"
}

func calls(n int) string {
	if n == 1 {
		return "its one call"
	}
	return fmt.Sprintf("its %d calls", n)
}
