package ownkernels

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"triad/internal/advice"
	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/userfile"
)

// keptBytes is the maximum number of bytes of outputs kept per file.
const keptBytes = 64 << 20

// kept holds the outcomes of jobs that a trial of an interpretation ran. The recorded run requests many of
// the same jobs, and without a GPU the same job gives the same outcome: each outcome is judged there once
// instead of running the job again. Outcomes that are not plain are not kept. The zero value is ready to use.
type kept struct {
	mu    sync.Mutex
	jobs  map[[sha256.Size]byte]backend.Outcome
	bytes int64
}

// run returns the outcome of a job that a trial ran, or runs it. trial means that this run is one, whose
// outcome is kept.
func (k *kept) run(ctx context.Context, job backend.Job, trial bool,
	run func(context.Context, backend.Job) (backend.Outcome, error),
) (backend.Outcome, error) {
	if !trial && k.none() {
		return run(ctx, job)
	}
	key := jobKey(job)
	if outcome, ok := k.take(key, trial); ok && ctx.Err() == nil {
		return outcome, nil
	}
	outcome, err := run(ctx, job)
	if trial && err == nil && plain(outcome, len(job.Launches)) {
		k.put(key, outcome)
	}
	return outcome, err
}

func (k *kept) none() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.jobs) == 0
}

// take returns the kept outcome of a job; only another trial leaves it there.
func (k *kept) take(key [sha256.Size]byte, trial bool) (backend.Outcome, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	outcome, ok := k.jobs[key]
	if ok && !trial {
		delete(k.jobs, key)
		k.bytes -= outputBytes(outcome)
	}
	return outcome, ok
}

func (k *kept) put(key [sha256.Size]byte, outcome backend.Outcome) {
	k.mu.Lock()
	defer k.mu.Unlock()
	size := outputBytes(outcome)
	if k.bytes+size > keptBytes {
		return
	}
	if k.jobs == nil {
		k.jobs = map[[sha256.Size]byte]backend.Outcome{}
	}
	k.jobs[key] = outcome
	k.bytes += size
}

// plain reports whether every launch of a job returned and left nothing but its outputs.
func plain(o backend.Outcome, launches int) bool {
	if o.Status != op.StatusUnknown || o.Ended || o.Wedged || len(o.Launches) != launches {
		return false
	}
	return !slices.ContainsFunc(o.Launches, func(l backend.LaunchOutcome) bool {
		return len(l.Changed)+len(l.Guards) > 0 || l.Fault != ""
	})
}

func outputBytes(o backend.Outcome) (sum int64) {
	for _, l := range o.Launches {
		for _, output := range l.Outputs {
			sum += int64(len(output.Tensor.Data))
		}
	}
	return sum
}

// jobKey returns a hash of everything that a worker receives of a job, including the bytes of the inputs.
func jobKey(job backend.Job) (key [sha256.Size]byte) {
	h := sha256.New()
	i := job.Implementation
	part(h, i.Name, i.Pass, job.DType, job.Contract, job.Attrs, job.Outputs, job.Launches, job.SizesAlone)
	for _, t := range job.Inputs {
		part(h, t.Name, t.DType, t.Shape, t.Stride, t.Offset, len(t.Data))
		h.Write(t.Data)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

func part(h hash.Hash, values ...any) {
	for _, v := range values {
		fmt.Fprintf(h, "%#v\n", v)
	}
}

// raised returns where an exception was raised, as far as the user's lines show: in the file itself or in one
// that it imports, but not in a library.
func (f *File) raised(w *backend.Where) advice.Raised {
	raised, lines := advice.Raised{Text: f.Text()}, f.linesAt(w)
	if lines == nil {
		return raised
	}
	facts := f.interpretation.Workers.Parse(strings.Join(lines, "\n"))
	raised.Line, raised.Guard = lines[w.Line-1], facts.Guards[w.Line]
	for _, head := range facts.Heads {
		if head.Name == w.Kernel && head.Line <= w.Line && w.Line <= head.End {
			raised.Head = head.Text
		}
	}
	return raised
}

// linesAt returns the lines of the user's file that raised an exception, or nil if a library raised it. A
// worker names the file, and code may call itself anything, so it is only read in the user's package.
func (f *File) linesAt(w *backend.Where) []string {
	if w == nil || strings.Contains(w.File, "site-packages") || w.File == f.shim {
		return nil
	}
	lines := f.lines
	if w.File != f.Path {
		text, err := userfile.Within(packageOf(f.Path)).Read(w.File)
		if err != nil || filepath.Ext(w.File) != ".py" {
			return nil
		}
		lines = strings.Split(string(text), "\n")
	}
	if w.Line < 1 || w.Line > len(lines) {
		return nil
	}
	return lines
}

// usesMissing matches exceptions of calls that use a name whose line failed when the file was imported
// (pybridge/user_files/own_lines.py), or that import a package which is not installed.
var usesMissing = regexp.MustCompile(`^(?:InterpreterError: )?(?:Missing(?:: |\(['"])triad: |` +
	`(ModuleNotFoundError: No module named))`)

// notDefined returns the name without a value that a call used, from its exception; "" for another one.
func notDefined(exception string) string {
	_, rest, _ := strings.Cut(exception, "NameError")
	_, rest, _ = strings.Cut(rest, "name '")
	name, _, ends := strings.Cut(rest, "' is not defined")
	if !ends {
		return ""
	}
	return name
}

// missesNames reports what is missing here for a call that uses such a name. That is neutral: a wrong line
// would end the import.
func (f *File) missesNames(outcome *backend.Outcome) {
	if outcome.Status != op.StatusCrash || !f.IsPython() {
		return
	}
	if name := notDefined(outcome.Sentence); name != "" &&
		slices.Contains(f.interpretation.Workers.Parse(f.Text()).InMain, name) {
		outcome.Status, outcome.Sentence = op.StatusUnavailable, name+" is given a value only where the "+
			"file's main block runs, and triad imports it: assign "+name+" at the top of the file"
		return
	}
	at := usesMissing.FindStringSubmatchIndex(outcome.Sentence)
	if at == nil {
		return
	}
	why := outcome.Sentence[at[1]:]
	if at[2] >= 0 {
		why = outcome.Sentence[at[2]:]
	}
	outcome.Status, outcome.Sentence = op.StatusUnavailable, "it uses what a line of the file makes, which "+
		"works with other versions or where a GPU is, and not here ("+why+"): leave the line out, or "+
		"install the versions that it was written for; triad doctor names those here"
	if status, sentence, ok := advice.BuildLimit(why, "", !f.interpretation.Workers.GPU); ok {
		outcome.Status, outcome.Sentence = status, sentence
	}
}
