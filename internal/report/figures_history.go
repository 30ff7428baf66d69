package report

import (
	"fmt"
	"slices"

	"triad/internal/plot"
	"triad/internal/resultdiff"
)

// mostHistories limits the cases whose history is drawn.
const mostHistories = 4

// historyFigures draws the times of the cases that most sessions timed, or the least error margin if nothing
// was timed.
func (p Page) historyFigures() []Figure {
	var all []Figure
	for _, operator := range sortedKeys(p.Histories) {
		steps := p.Histories[operator]
		figures := historyOfTimes(operator, steps)
		if len(figures) == 0 {
			figures = historyOfErrorMargin(operator, steps)
		}
		all = append(all, figures...)
	}
	return all
}

func historyOfTimes(operator string, steps map[string][]resultdiff.Step) []Figure {
	type timed struct{ caseKey, regime string }
	var order []timed
	titles := map[timed]string{}
	series := map[timed]map[string]*plot.Series{}
	count := map[timed]int{}
	for _, impl := range historyOrder(steps) {
		for _, s := range steps[impl] {
			for _, t := range s.Times {
				k := timed{t.CaseKey, t.Time.Regime}
				if series[k] == nil {
					series[k] = map[string]*plot.Series{}
					order = append(order, k)
					titles[k] = fmt.Sprintf("%s %s %s, %s, %s", operator, t.Case.Pass, t.Case.DType,
						caseWords(t.Case), t.Time.Regime)
				}
				if series[k][impl] == nil {
					series[k][impl] = &plot.Series{Name: impl}
				}
				series[k][impl].Points = append(series[k][impl].Points,
					plot.Point{X: float64(s.Started.Unix()), Y: t.Time.MedianNS})
				count[k] = max(count[k], len(series[k][impl].Points))
			}
		}
	}
	slices.SortStableFunc(order, func(a, b timed) int { return count[b] - count[a] })
	var all []Figure
	for _, k := range order {
		if count[k] < 2 || len(all) == mostHistories {
			continue
		}
		c := plot.Chart{
			Title: "History of " + titles[k], X: plot.Axis{Label: "session (UTC)", Unit: plot.UTC},
			Y: plot.Axis{Label: "median of a call", Unit: plot.NS},
		}
		for _, impl := range historyOrder(steps) {
			if s := series[k][impl]; s != nil {
				c.Series = append(c.Series, *s)
			}
		}
		all = append(all, chartFigure("history", c))
	}
	return all
}

func historyOfErrorMargin(operator string, steps map[string][]resultdiff.Step) []Figure {
	c := plot.Chart{
		Title: "History of " + operator + ": least error margin",
		X:     plot.Axis{Label: "session (UTC)", Unit: plot.UTC},
		Y:     plot.Axis{Label: "least error margin", Log: true},
	}
	most := 0
	for _, impl := range historyOrder(steps) {
		s := plot.Series{Name: impl}
		for _, step := range steps[impl] {
			if h := step.ErrorMargin; h != nil && h.Class() == "finite" && *h > 0 {
				s.Points = append(s.Points, plot.Point{X: float64(step.Started.Unix()), Y: float64(*h)})
			}
		}
		if most = max(most, len(s.Points)); len(s.Points) > 0 {
			c.Series = append(c.Series, s)
		}
	}
	if most < 2 {
		return nil
	}
	return []Figure{chartFigure("history", c)}
}
