package submissions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"triad/internal/harmless"
	"triad/internal/op"
	"triad/internal/problem"
	"triad/internal/record"
	"triad/internal/subprocess"
	"triad/internal/worker"
	"triad/pybridge"
)

// longestCheck limits the format's own check of a submission.
const longestCheck = 2 * time.Minute

// formatCheck is the format's own check of one submission.
type formatCheck struct {
	implementation string          // mine/STEM
	adapter        *worker.Adapter // of the process that runs it; nil for CUDA, whose calls are triad's own
}

// AddCheck adds the format's own check of the submission that a word of --add names, in a process of its own.
func (a *Added) AddCheck(r *Reader, text, stem string, e *pybridge.Environment, confined Confined) error {
	asked, err := requestOf(text, r.Plan)
	if err != nil {
		return err
	}
	asked.Stem, asked.Function = stem, ""
	check := formatCheck{implementation: asked.Implementation()}
	if filepath.Ext(asked.Path) == ".py" || r.Plan.Packs(asked.Path) {
		absolute, err := filepath.Abs(asked.Path)
		if err != nil {
			return err
		}
		written := absolute
		if i := slices.IndexFunc(a.submissions, func(s Written) bool { return s.Path == absolute }); i >= 0 {
			written = a.submissions[i].folder
		}
		command := pybridge.CheckCommand(e, r.Workers.Cache, r.Dir, absolute, written)
		check.adapter = confined(&worker.Adapter{Command: command}, filepath.Dir(absolute))
	}
	a.checks = append(a.checks, check)
	return nil
}

// PrintChecks prints a line for each submission: the verdict of the format's own check, and that of triad's
// records. It starts no check after stop ends.
func (a *Added) PrintChecks(ctx, stop context.Context, to io.Writer, records []record.Record) error {
	for _, c := range a.checks {
		if stop.Err() != nil {
			return nil
		}
		sentence := "the format's own check of a file of CUDA is not run"
		if c.adapter != nil {
			check, err := c.run(ctx)
			if err != nil {
				check = &problem.Check{Failed: err.Error()}
			}
			sentence = check.Sentence(oursOf(c.implementation, records))
		}
		if _, err := fmt.Fprintf(to, "%s: %s.\n", harmless.Line(c.implementation),
			harmless.Line(sentence)); err != nil {
			return err
		}
	}
	return nil
}

// run runs the check within longestCheck. An error says why there is no verdict.
func (c *formatCheck) run(ctx context.Context) (*problem.Check, error) {
	command, err := c.adapter.Command(ctx)
	if err != nil {
		return nil, err
	}
	text, err := subprocess.Run(ctx, subprocess.Command{
		Path: command.Path, Args: command.Args, Env: command.Env, Most: command.Most, Boxed: command.Boxed,
		Deadline: longestCheck, MostOutput: problem.MostDescription,
	})
	if errors.Is(err, subprocess.ErrDeadline) {
		return nil, fmt.Errorf("it took more than %v", longestCheck)
	}
	if err != nil {
		return nil, err
	}
	return problem.ParseCheck(text)
}

// oursOf returns what triad's records say of a submission.
func oursOf(implementation string, records []record.Record) problem.Ours {
	var ours problem.Ours
	for i := range records {
		r := &records[i]
		if r.Impl != implementation && !strings.HasPrefix(r.Impl, implementation+":") {
			continue
		}
		switch r.Status.Weight() {
		case op.Good:
			ours.Judged = true
		case op.Bad:
			ours.Judged = true
			if value := wrongValue(r); !ours.Wrong || value != "" && !ours.Value {
				ours.Wrong, ours.Value, ours.Message = true, value != "", r.Message
				if ours.Value {
					ours.Message = value
				}
			}
		}
	}
	return ours
}

// wrongValue returns the worst value of a record, in words; "" where none is wrong.
func wrongValue(r *record.Record) string {
	for _, o := range r.Outputs {
		if w := o.Worst; r.Status == op.StatusFail && o.Status == op.StatusFail && w != nil {
			at := strings.Join(strings.Fields(fmt.Sprint(w.Index)), ",")
			sizes := ""
			for _, d := range r.Case.Dims {
				sizes += fmt.Sprintf("%s=%d ", d.Name, d.Value)
			}
			return fmt.Sprintf("%s%s is %v, accepted is %v to %v, at %s%s", o.Name, at, w.Got, w.Low, w.High,
				sizes, r.Case.Distribution)
		}
	}
	return ""
}
