package runsetup

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"triad/internal/harmless"
	"triad/internal/op"
	"triad/internal/problem"
	"triad/internal/record"
	"triad/internal/run"
	"triad/internal/subprocess"
	"triad/internal/worker"
	"triad/pybridge"
)

// longestCheck limits the format's own check of a submission.
const longestCheck = 2 * time.Minute

// theirCheck is the format's own check of one submission.
type theirCheck struct {
	implementation string          // mine/STEM
	adapter        *worker.Adapter // of the process that runs it; nil for CUDA, whose calls are triad's own
}

// addCheck adds the format's own check of the submission that a word of --add names, in a process of its own.
func (o *OwnFiles) addCheck(text, stem string, plan *problem.Plan, e *pybridge.Environment, cache string,
	confined func(*worker.Adapter, ...string) *worker.Adapter,
) error {
	r, err := requestOf(text, plan)
	if err != nil {
		return err
	}
	r.Stem, r.Function = stem, ""
	check := theirCheck{implementation: r.Implementation()}
	if filepath.Ext(r.Path) == ".py" || plan.Packs(r.Path) {
		absolute, err := filepath.Abs(r.Path)
		if err != nil {
			return err
		}
		command := pybridge.CheckCommand(e, cache, o.Folder.Dir, absolute)
		check.adapter = confined(&worker.Adapter{Command: command}, filepath.Dir(absolute))
	}
	o.theirs = append(o.theirs, check)
	return nil
}

// TellTheirs prints a line for each submission: what the check of its problem's format says of it, and
// triad's.
func (a *Setup) TellTheirs(ctx context.Context, mine *OwnFiles, result run.Result) error {
	if mine == nil {
		return nil
	}
	for _, their := range mine.theirs {
		if a.Stop.Err() != nil {
			return nil
		}
		said := "the format's own check of a file of CUDA is not run"
		if their.adapter != nil {
			check, err := their.run(ctx)
			if err != nil {
				check = &problem.Check{Failed: err.Error()}
			}
			said = check.Sentence(oursOf(their.implementation, result.Records))
		}
		if _, err := fmt.Fprintf(a.Out, "%s: %s.\n", harmless.Line(their.implementation),
			harmless.Line(said)); err != nil {
			return err
		}
	}
	return nil
}

func (t *theirCheck) run(ctx context.Context) (*problem.Check, error) {
	c, err := t.adapter.Command(ctx)
	if err != nil {
		return nil, err
	}
	text, err := subprocess.Run(ctx, subprocess.Command{
		Path: c.Path, Args: c.Args, Env: c.Env, Most: c.Most, Boxed: c.Boxed, Deadline: longestCheck,
		MostOutput: problem.MostDescription,
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
