package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/record"
)

// ofBoundName heads a column of errors as a share of the error bound: up to 1 an element is accepted.
const ofBoundName = "error / bound"

// ofBoundWords formats such a share.
func ofBoundWords(share *record.Float) string {
	switch {
	case share == nil:
		return ""
	case share.Class() != "finite":
		return "no number"
	}
	return figure(share)
}

// inverse returns 1 / error margin: the largest error as a share of its bound.
func inverse(errorMargin *record.Float) *record.Float {
	switch {
	case errorMargin == nil || errorMargin.Class() == "nan":
		return nil
	case errorMargin.Class() != "finite":
		return new(record.Float(0))
	case *errorMargin == 0:
		return new(record.Float(math.Inf(1)))
	}
	return new(1 / *errorMargin)
}

// ofBound returns the largest error of an output as a share of its bound; nil if no element was compared.
func ofBound(v record.Verdict) *record.Float {
	s := v.Statistics
	if v.NWrong == 0 || s == nil {
		return inverse(v.ErrorMargin)
	}
	most := -1.0
	if s.Map != nil {
		for i, n := range s.Map.Compared[:min(len(s.Map.Compared), len(s.Map.Most))] {
			if n > 0 {
				most = math.Max(most, float64(s.Map.Most[i]))
			}
		}
	}
	if most < 0 && len(s.Worst) > 0 && s.Worst[0].T > 0 {
		most = math.Abs(float64(s.Worst[0].Got-s.Worst[0].R)) / float64(s.Worst[0].T)
	}
	if most < 0 {
		return nil
	}
	return new(record.Float(most))
}

// ofBound returns the largest error of the records as a share of its bound. A case that cannot tell right
// from wrong counts only if there is no other.
func (g group) ofBound() *record.Float {
	powerless := g.status() == op.StatusNoPower
	var most *record.Float
	for _, r := range g.records {
		if r.Status == op.StatusNoPower && !powerless {
			continue
		}
		for _, v := range r.Outputs {
			most = least(most, ofBound(v), func(a, b record.Float) bool { return a > b })
		}
	}
	return most
}

// verdict returns the words of a cell: how many cases are wrong, or how many are right and what became of the
// others.
func (g group) verdict() string {
	status := g.status()
	good, neutral, bad := g.counts()
	switch {
	case bad > 0:
		return fmt.Sprintf("%v %d of %d", status, bad, len(g.records))
	case good == 0 && len(g.records) == 1:
		return status.String()
	}
	parts := []string{fmt.Sprintf("%v %d", status, good)}
	if status.Weight() == op.Neutral {
		parts[0] = fmt.Sprintf("%v %d", status, g.having(status))
		if good > 0 {
			parts = append(parts, fmt.Sprintf("%d good", good))
		}
	}
	if neutral > 0 {
		parts = append(parts, g.othersThan(status)...)
	}
	return strings.Join(parts, ", ")
}

// having counts the records of a status.
func (g group) having(status op.Status) (n int) {
	for _, r := range g.records {
		if r.Status == status {
			n++
		}
	}
	return n
}

// othersThan counts the neutral records of other statuses in words.
func (g group) othersThan(status op.Status) []string {
	const notTaken, cannotTell = "not taken", "cannot tell"
	var order []string
	counts := map[string]int{}
	for _, r := range g.records {
		if r.Status.Weight() != op.Neutral || r.Status == status {
			continue
		}
		words := strings.ToLower(strings.ReplaceAll(r.Status.String(), "_", " "))
		switch r.Status {
		case op.StatusUnsupported, op.StatusMissing, op.StatusSkipped, op.StatusUnavailable:
			words = notTaken
		case op.StatusNoPower:
			words = cannotTell
		}
		if !slices.Contains(order, words) {
			order = append(order, words)
		}
		counts[words]++
	}
	for i, words := range order {
		order[i] = fmt.Sprintf("%d %s", counts[words], words)
	}
	return order
}

// factsOf makes a table of two columns: names, and what they stand for.
func factsOf(caption string, rows []htmlRow) htmlBlock {
	b := tableOf(caption, []string{"", ""}, rows)
	b.Table.Facts = true
	return b
}
