package casegaps

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"triad/internal/op"
	"triad/internal/workload"
)

// Gap is something that no case of a pass tests, in a sentence.
type Gap struct {
	Pass     op.Pass
	DTypes   []string // in which no case tests it
	Every    bool     // these are all that the pass has
	Sentence string
}

// lack is part of a sentence: "x never holds", "NaN".
type lack struct{ about, what string }

// seed is the seed of the inputs that are examined.
const seed = 1

// Unasked lists what the cases of the default level on a CPU do not test. It makes the inputs of the cases,
// and computes no truth.
func Unasked(spec *op.Spec) ([]Gap, error) {
	var gaps []Gap
	for _, pass := range spec.Passes() {
		in := map[lack][]string{} // the dtypes of each
		var order []lack
		for _, dtype := range spec.PassDTypes(pass) {
			plan, err := spec.Expand(op.Options{Passes: []op.Pass{pass}, DTypes: []string{dtype}})
			if err != nil {
				return nil, err
			}
			lacks, err := Cases{spec, pass, dtype, plan.Cases}.lacks()
			if err != nil {
				return nil, err
			}
			for _, l := range lacks {
				if in[l] == nil {
					order = append(order, l)
				}
				in[l] = append(in[l], dtype)
			}
		}
		gaps = append(gaps, sentences(spec, pass, order, in)...)
	}
	return gaps, nil
}

// sentences joins what is missing about one thing in the same dtypes into one sentence.
func sentences(spec *op.Spec, pass op.Pass, order []lack, in map[lack][]string) []Gap {
	var gaps []Gap
	done := map[lack]bool{}
	for _, first := range order {
		if done[first] {
			continue
		}
		var what []string
		for _, l := range order {
			if l.about == first.about && slices.Equal(in[l], in[first]) {
				done[l] = true
				what = append(what, l.what)
			}
		}
		gaps = append(gaps, Gap{
			Pass: pass, DTypes: in[first], Every: len(in[first]) == len(spec.PassDTypes(pass)),
			Sentence: first.about + " " + strings.Join(what, ", "),
		})
	}
	return gaps
}

// lacks lists what the cases of one pass and dtype do not test.
func (c Cases) lacks() ([]lack, error) {
	open, err := c.Questions()
	if err != nil {
		return nil, err
	}
	for _, x := range c.List {
		open = slices.DeleteFunc(open, func(q Question) bool {
			return !q.NeedsInputs() && q.Shows(c.Spec, x, nil)
		})
	}
	if open, err = c.openOfInputs(open); err != nil {
		return nil, err
	}
	var lacks []lack
	for _, q := range open {
		if q.Kind != Sum16 { // the spec does not state whether anything is summed over a size
			lacks = append(lacks, c.lackOf(q))
		}
	}
	inputs, err := c.Spec.Inputs(c.List[0])
	for _, t := range inputs {
		if !t.Strided && !single(t) {
			lacks = append(lacks, c.lackOf(Question{Kind: Strides, Subject: t.Name}))
		}
		if !t.Strided {
			lacks = append(lacks, c.lackOf(Question{Kind: Offset, Subject: t.Name}))
		}
	}
	return append(lacks, c.largestTensor()), err
}

// lackOf describes the gap of a question that no case asks.
func (c Cases) lackOf(q Question) lack {
	switch q.Kind {
	case Attribute:
		return lack{"always:", fmt.Sprintf("%s = %s", q.Subject, c.List[0].Attrs.Text(q.Subject))}
	case Strides:
		return lack{"always contiguous:", q.Subject}
	case Offset:
		return lack{"never behind an offset:", q.Subject}
	case Numbers:
		return lack{q.Subject + " never holds", q.Value}
	case Above16:
		return lack{
			"never more than 65,536 elements:",
			fmt.Sprintf("%s (%s)", q.Subject, thousands(c.largest(q.Subject))),
		}
	case Index16:
		return lack{
			"never above 65,536:",
			fmt.Sprintf("%s (%s)", q.Subject, thousands(c.most(q.Subject))),
		}
	case Multiple:
		return lack{"never a multiple of 32 that is no power of two:", q.Value}
	case Threads:
		return lack{"never above 1,024:", fmt.Sprintf("%s (%s)", q.Value, thousands(c.most(q.Value)))}
	case Ragged:
		return lack{
			"never ragged next to a multiple of 32:", fmt.Sprintf("%s next to %s", q.Value, q.Beside),
		}
	}
	return lack{"no sizes for:", q.String()}
}

// openOfInputs returns the questions about inputs that no case shows, and all others.
func (c Cases) openOfInputs(open []Question) ([]Question, error) {
	plain := 0
	for _, x := range c.List {
		if !slices.ContainsFunc(open, Question.NeedsInputs) {
			break
		}
		if isPlain(x) {
			if plain++; plain > plainCases {
				continue
			}
		}
		in, err := workload.Inputs(c.Spec, x, seed)
		if err != nil {
			return nil, err
		}
		open = slices.DeleteFunc(open, func(q Question) bool {
			return q.NeedsInputs() && q.Shows(c.Spec, x, in)
		})
	}
	return open, nil
}

// plainCases is the number of cases of plain normal data that are examined: the others hold the same kinds of
// numbers.
const plainCases = 3

func isPlain(c op.Case) bool {
	return c.Distribution == "normal" && c.Layout == "contiguous" &&
		(c.Upstream == "" || c.Upstream == "normal")
}

// most returns the largest value of a size in the cases.
func (c Cases) most(size string) int64 {
	most := int64(0)
	for _, x := range c.List {
		n, _ := c.Spec.Size(x.Dims, size)
		most = max(most, n)
	}
	return most
}

// largestTensor describes the size of the largest tensor of the cases.
func (c Cases) largestTensor() lack {
	largest, name := int64(0), ""
	for _, x := range c.List {
		inputs, _ := c.Spec.Inputs(x)
		for _, t := range slices.Concat(inputs, outputsOf(c.Spec, x)) {
			if n := t.Elements(); n > largest {
				largest, name = n, t.Name
			}
		}
	}
	return lack{"largest tensor:", fmt.Sprintf("%s (%s elements)", name, thousands(largest))}
}

// thousands formats a number as in tables: 65,536.
func thousands(n int64) string {
	text := strconv.FormatInt(n, 10)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
