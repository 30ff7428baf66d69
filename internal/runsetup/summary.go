package runsetup

import (
	"fmt"

	"triad/internal/report"
	"triad/internal/run"
	"triad/internal/session"
)

// TellPage prints the command for the page of a session.
func (a *Setup) TellPage(id string, result run.Result, o *Options) error {
	if o.JSON || len(result.Records) == 0 {
		return nil
	}
	_, err := fmt.Fprintln(a.Out, "Look at it: triad results report "+id+a.InDatabase)
	return err
}

func PowerOf(result run.Result) report.Power {
	p := result.Power
	return report.Power{Cases: p.Cases, Powered: p.Cases - len(p.Powerless), Trivial: len(p.Trivial)}
}

func Timed(r run.Result) report.Timed {
	return report.Timed{Rulers: r.Rulers, Comparisons: r.Comparisons}
}

// SummaryOf returns what stands below every table.
func SummaryOf(s *session.Session, result run.Result, end session.Ending) report.Summary {
	return report.Summary{
		Session: s.ID(), Seed: s.Seed(), Exit: int(end.Code), Database: s.Store.Path(), Reason: end.Reason,
		Findings: session.GoneFindings(result), Spent: s.Spent,
	}
}
