package console

import (
	"triad/internal/report"
	"triad/internal/resultdiff"
)

// LinesOfADiff is the default number of printed lines of each kind.
const LinesOfADiff = 20

// PrintChanges prints changes as a table or as JSON lines.
func (c *Console) PrintChanges(before, now resultdiff.Side, changes []resultdiff.Change,
	limit int, asJSON bool,
) error {
	if !asJSON {
		return report.Diff(c.Out, c.Style(), before, now, changes, limit)
	}
	for _, change := range changes {
		if err := report.JSON(c.Out, report.Change(change)); err != nil {
			return err
		}
	}
	return nil
}
