package runsetup

import (
	"triad/internal/report"
	"triad/internal/run"
	"triad/internal/session"
)

// PowerOf returns the numbers of cases: all, those with power, and those that are trivial by design.
func PowerOf(result run.Result) report.Power {
	p := result.Power
	return report.Power{Cases: p.Cases, Powered: p.Cases - len(p.Powerless), Trivial: len(p.Trivial)}
}

// Timed returns the ceilings of the GPU and the comparisons of a result, for its table.
func Timed(r run.Result) report.Timed {
	return report.Timed{Ceilings: r.Ceilings, Comparisons: r.Comparisons, Smaller: r.Smaller}
}

// SummaryOf returns what stands below every table.
func SummaryOf(s *session.Session, result run.Result, end session.Ending) report.Summary {
	return report.Summary{
		Session: s.ID(), Seed: s.Seed(), Exit: int(end.Code), Database: s.Store.Path(), Reason: end.Reason,
		Findings: session.GoneFindings(result), Spent: s.Spent, Impls: s.Request.Impls,
	}
}
