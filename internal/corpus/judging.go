package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"triad/internal/judgeloop"
	"triad/internal/opfolder"
	"triad/internal/panics"
	"triad/internal/problem"
	"triad/internal/subprocess"
)

// importLimit is the deadline of the import of a problem.
const importLimit = 10 * time.Minute

// judging is one run over the solutions of a clone.
type judging struct {
	triad, clone, work, device, card, rows, commit string
	limit                                          time.Duration // of a call of a solution
	lanes                                          int           // of each problem
	shapes                                         int           // of each problem
	sizes                                          map[string]map[string]int64
	half                                           string // open, held-out or both
	noSandbox                                      bool
	rest                                           string    // why nothing more is judged
	last                                           time.Time // no solution begins later; zero: all begin

	mu      sync.Mutex
	program string            // the hash of triad
	earlier map[string]string // the folders of problems as they were, by runs
	known   []row
}

// all judges the solutions that have no row: those of each problem in a process of triad judge, the processes
// side by side.
func (j *judging) all(ctx context.Context) error {
	groups, err := j.solutions(ctx)
	if err != nil {
		return err
	}
	var group panics.Group
	errs := make([]error, len(groups))
	for i, all := range groups {
		group.Go(func() { errs[i] = j.problem(ctx, all) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return errors.New("stopped: the same command goes on")
	}
	return errors.Join(errs...)
}

// solutions returns what is to be judged, by problems, and makes the rows ready.
func (j *judging) solutions(ctx context.Context) ([][]*solution, error) {
	found, err := solutions(j.clone)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(found, func(a, b *solution) int { return j.rank(a) - j.rank(b) })
	if j.known, err = readRows(j.rows); err != nil {
		return nil, err
	}
	program, err := os.ReadFile(j.triad)
	if err != nil {
		return nil, fmt.Errorf("the program: %w", err)
	}
	j.program = hashOf(program)[:16]
	if j.commit == "" {
		head, err := subprocess.Run(ctx, subprocess.Command{
			Path: "git", Args: []string{"-C", j.clone, "rev-parse", "HEAD"}, Deadline: time.Minute,
		})
		if err != nil {
			return nil, fmt.Errorf("the commit of %s: %w", j.clone, err)
		}
		j.commit = strings.TrimSpace(head)
	}
	if err := os.MkdirAll(filepath.Dir(j.rows), 0o755); err != nil {
		return nil, err
	}
	if j.earlier, err = j.earlierDecks(ctx, found); err != nil {
		return nil, err
	}
	var groups [][]*solution
	at := map[string]int{}
	for _, s := range found {
		if !j.wants(s) || slices.ContainsFunc(j.known, func(r row) bool {
			return r.Run == s.run && r.SHA256 == hashOf([]byte(s.text))
		}) {
			continue
		}
		problem := j.problemOf(s)
		i, is := at[problem]
		if !is {
			i, at[problem] = len(groups), len(groups)
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], s)
	}
	return groups, nil
}

// problemOf returns the folder of a solution's problem, as it was when the solution was written.
func (j *judging) problemOf(s *solution) string {
	if earlier := j.earlier[s.run]; earlier != "" {
		return filepath.Join(j.work, earlier)
	}
	return s.problemFolder(j.clone)
}

// wants reports whether a solution belongs to what is judged.
func (j *judging) wants(s *solution) bool {
	return j.half == "both" || s.heldOut() == (j.half == "held-out")
}

// rank orders the solutions, since the time may not do for all: first the few that are not clean and those
// that were written for the card that is here, of the open half and of the other; then the rest, the held-out
// half before the open one.
func (j *judging) rank(s *solution) int {
	first := s.label == "reward_hack" || s.label == "bug" || s.card == j.card
	switch {
	case first && !s.heldOut():
		return 0
	case first:
		return 1
	case s.heldOut():
		return 2
	}
	return 3
}

// problem judges solutions of one problem.
func (j *judging) problem(ctx context.Context, all []*solution) error {
	folder, why, err := "", j.rest, error(nil)
	if why == "" {
		if folder, why, err = j.operator(ctx, j.problemOf(all[0])); err != nil {
			return err
		}
	}
	var sizes []map[string]int64
	if why == "" {
		if sizes, err = j.smallest(all[0].problem, folder); err != nil {
			return err
		}
	}
	var jobs [][]byte
	runs := map[string]*solution{}
	for _, s := range all {
		r := j.begin(s)
		switch {
		case why != "":
			r.Verdict, r.Reason = notRun, why
		case j.device == "cpu" && compiles.MatchString(s.text):
			r.Verdict, r.Reason = notRun, "it compiles for a GPU, which is not here"
		default:
			line, err := json.Marshal(j.job(s, folder, sizes))
			if err != nil {
				return err
			}
			jobs = append(jobs, append(line, '\n'))
			runs[s.run] = s
			continue
		}
		if err := j.keep(r); err != nil {
			return err
		}
	}
	if len(runs) == 0 {
		return nil
	}
	return j.judge(ctx, jobs, runs, fmt.Sprint(sizes))
}

// smallest returns the shapes of a deck with the least work, as many as are judged: a solution is meant for
// the shapes of its deck alone. Of a problem in sizes it is that one.
func (j *judging) smallest(name, folder string) ([]map[string]int64, error) {
	plan, err := problem.ReadPlan(filepath.Join(folder, opfolder.ProblemFile))
	if err != nil {
		return nil, err
	}
	work := func(sizes map[string]int64) float64 {
		product := 1.0
		for _, n := range sizes {
			product *= float64(n)
		}
		return product
	}
	if given, is := j.sizes[name]; is {
		return []map[string]int64{given}, nil
	}
	slices.SortStableFunc(plan.Sizes, func(a, b map[string]int64) int {
		return cmp.Compare(work(a), work(b))
	})
	return plan.Sizes[:min(j.shapes, len(plan.Sizes))], nil
}

// job asks for the verdict on a solution.
func (j *judging) job(s *solution, folder string, sizes []map[string]int64) map[string]any {
	further := files(s.text)
	own := further[solutionFile]
	delete(further, solutionFile)
	return map[string]any{
		"id": s.run, "problem": folder, "sizes": sizes, "timeout_s": j.limit.Seconds(),
		"candidate": map[string]any{"text": own, "files": further},
	}
}

// judge gives the jobs of one problem to triad judge, and keeps a row for each result as it comes.
func (j *judging) judge(ctx context.Context, jobs [][]byte, runs map[string]*solution, sizes string) error {
	args := []string{
		"judge", "--stdin", "--device", j.device, "--lanes", strconv.Itoa(j.lanes), "--offline",
	}
	if j.noSandbox {
		args = append(args, "--no-sandbox")
	}
	in, feed, err := os.Pipe()
	if err != nil {
		return err
	}
	var left atomic.Int64
	panics.Go(func() {
		left.Store(j.feed(feed, jobs))
		feed.Close() // the end of the input, after which left is read
	}, func(error) { feed.Close() })
	var stderr bytes.Buffer
	out := &lines{each: func(line []byte) error { return j.result(line, runs, sizes) }}
	_, err = subprocess.Run(ctx, subprocess.Command{
		Path: j.triad, Args: args, Stdin: in, Stdout: out, Stderr: &stderr,
	})
	in.Close()
	if missing := int64(len(runs)) - left.Load(); missing > 0 {
		err = fmt.Errorf("triad judge left out %d solutions: %w: %s", missing, err, &stderr)
	}
	return errors.Join(out.err, err)
}

// feed writes jobs as they are taken until no solution begins any more, and returns how many are left. The
// pipe holds a page alone, so that what is written has begun, but for the next one.
func (j *judging) feed(to *os.File, jobs [][]byte) (left int64) {
	const page = 4096
	_, _, _ = syscall.Syscall(syscall.SYS_FCNTL, to.Fd(), syscall.F_SETPIPE_SZ, page)
	for i, job := range jobs {
		if !j.last.IsZero() && time.Now().After(j.last) {
			return int64(len(jobs) - i)
		}
		if _, err := to.Write(job); err != nil { // the program has ended
			return 0
		}
	}
	return 0
}

// result keeps the row of a result.
func (j *judging) result(line []byte, runs map[string]*solution, sizes string) error {
	x := &judgeloop.Result{}
	var run string
	if err := errors.Join(json.Unmarshal(line, x), json.Unmarshal(x.ID, &run)); err != nil {
		return fmt.Errorf("triad judge prints %q: %w", line, err)
	}
	s := runs[run]
	if s == nil {
		return fmt.Errorf("triad judge has a result for %q", run)
	}
	delete(runs, run)
	r := j.begin(s)
	r.Sizes = sizes
	r.of(x, s.text, j.device == "gpu" && s.card == j.card)
	return j.keep(r)
}

// begin returns the row of a solution without an outcome.
func (j *judging) begin(s *solution) *row {
	return &row{
		Run: s.run, SHA256: hashOf([]byte(s.text)), Deck: s.deck, Problem: s.problem, Card: s.card,
		Label: s.label, Unseen: s.unseen, HeldOut: s.heldOut(), Device: j.device, Commit: j.commit,
		Program: j.program,
	}
}

// keep appends a row.
func (j *judging) keep(r *row) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	fmt.Printf("%-12s %-11s %-12s %6.1f s %s %s\n", r.Label, r.Verdict, r.Status, r.Seconds, r.Run, r.Reason)
	return appendRow(j.rows, r)
}

// operator returns the folder of the operator of a problem, which it imports if it is not there; or why it
// has none.
func (j *judging) operator(ctx context.Context, problem string) (folder, why string, err error) {
	if problem == "" {
		return "", "the clone holds no problem of that name", nil
	}
	from := j.clone
	if inside, err := filepath.Rel(j.work, problem); err == nil && filepath.IsLocal(inside) {
		from = j.work
	}
	relative, err := filepath.Rel(from, problem)
	if err != nil {
		return "", "", err
	}
	into := filepath.Join(j.work, "operators", strings.ReplaceAll(relative, string(filepath.Separator), "-"))
	args := []string{"import", "deck", problem, "--into", into}
	if j.noSandbox {
		args = append(args, "--no-sandbox")
	}
	refused := into + ".refused" // so that nothing is tried again
	if sentence, err := os.ReadFile(refused); err == nil {
		return "", string(sentence), nil
	}
	var stderr bytes.Buffer
	_, runErr := subprocess.Run(ctx, subprocess.Command{
		Path: j.triad, Args: args, Stderr: &stderr, Deadline: importLimit,
	})
	if ctx.Err() != nil {
		return "", "", ctx.Err()
	}
	if failed := (*exec.ExitError)(nil); runErr != nil && !errors.As(runErr, &failed) {
		return "", "", fmt.Errorf("import %s: %w", problem, runErr)
	}
	found, err := filepath.Glob(filepath.Join(into, "*"))
	if err == nil && runErr == nil && len(found) == 1 {
		return found[0], "", nil
	}
	why = "its problem is not imported"
	if _, sentence, ok := strings.Cut(stderr.String(), " is not imported: "); ok {
		why += ": " + strings.TrimSuffix(strings.SplitN(sentence, "\n", 2)[0], ".")
	}
	if err := os.MkdirAll(filepath.Dir(refused), 0o755); err != nil {
		return "", "", err
	}
	return "", why, os.WriteFile(refused, []byte(why), 0o644)
}

// lines hands each whole line that is written on.
type lines struct {
	each func(line []byte) error
	rest []byte
	err  error
}

// Write keeps what is no whole line yet. An error ends the program that writes.
func (l *lines) Write(text []byte) (int, error) {
	l.rest = append(l.rest, text...)
	for {
		line, rest, whole := bytes.Cut(l.rest, []byte("\n"))
		if !whole || l.err != nil {
			return len(text), l.err
		}
		l.err, l.rest = l.each(line), rest
	}
}
