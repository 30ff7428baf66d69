package compare

import (
	"fmt"
	"io"

	"triad/internal/run"
)

// printSteps prints a line for each operator whose truth was compared with the complex step; with --json only
// failures, to stderr.
func (a *Verb) printSteps(steps []run.Step, json bool) error {
	for _, s := range steps {
		to := a.Out
		if json && s.Agrees() {
			continue
		} else if json {
			to = a.Err
		}
		if _, err := fmt.Fprintf(to, "truth of %s: %v\n", s.Case.Op, s.Step); err != nil {
			return fmt.Errorf("print the result: %w", err)
		}
	}
	if len(steps) > 0 && !json {
		_, err := io.WriteString(a.Out, "\n")
		return err
	}
	return nil
}
