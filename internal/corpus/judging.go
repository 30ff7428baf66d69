package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"triad/internal/op"
	"triad/internal/subprocess"
)

// A row keeps the outcome of one solution, and none of its text.
type row struct {
	Run     string  `json:"run"`
	SHA256  string  `json:"sha256"`
	Deck    string  `json:"deck"`
	Problem string  `json:"problem"`
	Label   string  `json:"label"`
	HeldOut bool    `json:"held_out"`
	Kernels bool    `json:"kernels"` // the file defines a kernel, or has one compiled
	Device  string  `json:"device"`
	Verdict string  `json:"verdict"` // one of those below
	Status  string  `json:"status"`  // the worst of its cases
	Reason  string  `json:"reason"`
	Cases   int     `json:"cases"` // that were judged
	Shapes  string  `json:"shapes"`
	Judge   string  `json:"judge"` // the version of the judge
	Seconds float64 `json:"seconds"`
	Commit  string  `json:"commit"` // of the clone
}

// The verdicts: accused is a bad status, passed a good one without a bad one, and not judged neither.
const (
	accused   = "accused"
	passed    = "passed"
	notJudged = "not judged"
	notRun    = "not run"
)

// importLimit is the deadline of the import of a problem.
const importLimit = 10 * time.Minute

// judging is one run over the solutions of a clone.
type judging struct {
	triad, clone, work, device, rows string
	limit                            time.Duration
	heldOut                          bool
	commit                           string
	imported                         map[string]string // why a problem has no operator, by its folder
}

// all judges the solutions that have no row, those that are no clean ones first.
func (j *judging) all(ctx context.Context) error {
	found, err := solutions(j.clone)
	if err != nil {
		return err
	}
	known, err := readRows(j.rows)
	if err != nil {
		return err
	}
	head, err := subprocess.Run(ctx, subprocess.Command{
		Path: "git", Args: []string{"-C", j.clone, "rev-parse", "HEAD"}, Deadline: time.Minute,
	})
	if err != nil {
		return fmt.Errorf("the commit of %s: %w", j.clone, err)
	}
	j.commit, j.imported = strings.TrimSpace(head), map[string]string{}
	if err := os.MkdirAll(filepath.Dir(j.rows), 0o755); err != nil {
		return err
	}
	slices.SortStableFunc(found, func(a, b *solution) int { return rank(a.label) - rank(b.label) })
	for _, s := range found {
		text, err := os.ReadFile(s.path)
		if err != nil {
			return err
		}
		if s.heldOut() != j.heldOut || slices.ContainsFunc(known, func(r row) bool {
			return r.Run == s.run && r.SHA256 == hashOf(text)
		}) {
			continue
		}
		began := time.Now()
		r := row{
			Run: s.run, SHA256: hashOf(text), Deck: s.deck, Problem: s.problem, Label: s.label,
			HeldOut: s.heldOut(), Device: j.device, Commit: j.commit,
			Kernels: kernels.Match(text) || compiles.Match(text),
		}
		if err := j.judge(ctx, s, string(text), &r); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return errors.New("stopped: the same command goes on")
		}
		r.Seconds = float64(time.Since(began).Milliseconds()) / 1000
		if err := appendRow(j.rows, r); err != nil {
			return err
		}
		fmt.Printf("%-12s %-11s %-12s %s %s\n", r.Label, r.Verdict, r.Status, r.Run, r.Reason)
	}
	return nil
}

// rank orders labels: the few that are not clean come first.
func rank(label string) int {
	if at := slices.Index([]string{"reward_hack", "bug"}, label); at >= 0 {
		return at
	}
	if label == "clean" {
		return 9
	}
	return 5
}

// judge runs triad on one solution.
func (j *judging) judge(ctx context.Context, s *solution, text string, r *row) error {
	r.Verdict = notRun
	switch problem := s.problemFolder(j.clone); {
	case problem == "":
		r.Reason = "the clone holds no problem of that name"
		return nil
	case j.device == "cpu" && compiles.MatchString(text):
		r.Reason = "it compiles for a GPU, which is not here"
		return nil
	default:
		folder, why, err := j.operator(ctx, problem)
		if err != nil || why != "" {
			r.Reason = why
			return err
		}
		return j.compare(ctx, folder, text, r)
	}
}

// operator returns the folder of the operator of a problem, which it imports where it is not there; or why it
// has none.
func (j *judging) operator(ctx context.Context, problem string) (folder, why string, err error) {
	if why, known := j.imported[problem]; known && why != "" {
		return "", why, nil
	}
	relative, err := filepath.Rel(j.clone, problem)
	if err != nil {
		return "", "", err
	}
	into := filepath.Join(j.work, "operators", strings.ReplaceAll(relative, string(filepath.Separator), "-"))
	var said bytes.Buffer
	_, runErr := subprocess.Run(ctx, subprocess.Command{
		Path: j.triad, Args: []string{"import", "deck", problem, "--into", into}, Stderr: &said,
		Deadline: importLimit,
	})
	if failed := (*exec.ExitError)(nil); runErr != nil && !errors.As(runErr, &failed) {
		return "", "", fmt.Errorf("import %s: %w", problem, runErr)
	}
	found, err := filepath.Glob(filepath.Join(into, "*"))
	if err == nil && runErr == nil && len(found) == 1 {
		return found[0], "", nil
	}
	why = "its problem is not imported"
	if _, sentence, ok := strings.Cut(said.String(), " is not imported: "); ok {
		why += ": " + strings.TrimSuffix(strings.SplitN(sentence, "\n", 2)[0], ".")
	}
	j.imported[problem] = why
	return "", why, nil
}

// compare judges a solution on the shapes of --quick.
func (j *judging) compare(ctx context.Context, folder, text string, r *row) error {
	own := filepath.Join(j.work, "solutions", r.SHA256[:16])
	if err := os.MkdirAll(own, 0o755); err != nil {
		return err
	}
	for name, content := range files(text) {
		if err := os.WriteFile(filepath.Join(own, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	var said bytes.Buffer
	out, err := subprocess.Run(ctx, subprocess.Command{
		Path: j.triad, Stderr: &said,
		Args: []string{
			"compare", folder, "--add", filepath.Join(own, solutionFile), "--impl", "mine", "--quick",
			"--pass", "forward", "--json", "--device", j.device, "--db", filepath.Join(j.work, "results.db"),
			"--limit", "first-cpu=4m", "--limit", "call=4m",
		},
		Deadline: j.limit,
	})
	r.of(out)
	if _, sentence, refused := strings.Cut(said.String(), solutionFile+": "); refused && r.Cases == 0 {
		r.Reason, _, _ = strings.Cut(sentence, "\n")
	}
	failed := &exec.ExitError{}
	switch {
	case errors.Is(err, subprocess.ErrDeadline) && r.Verdict != accused:
		r.Verdict, r.Reason = notJudged, fmt.Sprintf("it was not done after %v", j.limit)
	case err != nil && !errors.As(err, &failed) && !errors.Is(err, subprocess.ErrDeadline):
		return fmt.Errorf("judge %s: %w", r.Run, err)
	}
	return nil
}

// A judged case holds the read part of a line that triad compare --json prints.
type judged struct {
	Implementation string           `json:"impl"`
	Status         op.Status        `json:"status"`
	Message        string           `json:"message"`
	Dims           map[string]int64 `json:"dims"`
	Outputs        []struct {
		Status  op.Status `json:"status"`
		Message string    `json:"message"`
		Name    string    `json:"name"`
		Gate    string    `json:"gate"`
		Wrong   int64     `json:"n_wrong"`
		Of      int64     `json:"n_compared"`
		Judge   string    `json:"judge"`
		Worst   *struct {
			Index                []int64 `json:"index"`
			Got, Want, Low, High json.RawMessage
		} `json:"worst"`
	} `json:"outputs"`
}

// of fills in a row from the lines that triad printed.
func (r *row) of(out string) {
	var worst *judged
	good, shapes := 0, []string{}
	lines := bufio.NewScanner(strings.NewReader(out))
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		x := &judged{}
		if json.Unmarshal(lines.Bytes(), x) != nil || !strings.HasPrefix(x.Implementation, "mine/") {
			continue
		}
		r.Cases++
		for _, o := range x.Outputs {
			r.Judge = o.Judge
		}
		if x.Status.Weight() == op.Good {
			good++
			if words := sizes(x.Dims); !slices.Contains(shapes, words) {
				shapes = append(shapes, words)
			}
		}
		if worst == nil || x.Status.Weight() == op.Bad && worst.Status.Weight() != op.Bad ||
			x.Status.Weight() == op.Good && worst.Status.Weight() == op.Neutral {
			worst = x
		}
	}
	slices.Sort(shapes)
	r.Shapes, r.Verdict = strings.Join(shapes, "; "), notJudged
	if worst == nil {
		r.Reason = "triad said nothing of it"
		return
	}
	r.Status = worst.Status.String()
	switch {
	case worst.Status.Weight() == op.Bad && r.Device == "cpu" && slices.Contains(ofThePlace, worst.Status):
		r.Reason = worst.reason()
	case worst.Status.Weight() == op.Bad:
		r.Verdict, r.Reason = accused, worst.reason()
	case good > 0:
		r.Verdict = passed
	default:
		r.Reason = worst.reason()
	}
}

// ofThePlace lists statuses that accuse no solution without a GPU: it was written for one, and for the sizes
// of the deck, of which the cut ones may be smaller than its tiles.
var ofThePlace = []op.Status{op.StatusCrash, op.StatusHang, op.StatusBuildFail, op.StatusOutOfBounds}

// raised finds the type of an exception in a message; what follows may be a stranger's text.
var raised = regexp.MustCompile(`\b([A-Z]\w*(?:Error|Exception|Interrupt))\b`)

// reason says why a case ended as it did, without the text of the solution.
func (x *judged) reason() string {
	at := " at " + sizes(x.Dims)
	for _, o := range x.Outputs {
		if o.Status.Weight() == op.Bad && (o.Worst == nil || o.Wrong == 0) {
			return o.Message + at
		}
		if o.Status.Weight() == op.Bad {
			w := o.Worst
			return fmt.Sprintf("%s%v is %s, want %s, accepted %s to %s; %d of %d elements are wrong (%s)%s",
				o.Name,
				w.Index, w.Got, w.Want, w.Low, w.High, o.Wrong, o.Of, o.Gate, at)
		}
	}
	if found := raised.FindString(x.Message); found != "" {
		return "it raises " + found + at
	}
	sentence, _, _ := strings.Cut(x.Message, "\n")
	if _, after, has := strings.Cut(sentence, solutionFile+":"); has { // behind its path and line
		_, sentence, _ = strings.Cut(after, ": ")
	}
	return namesTensor.ReplaceAllString(sentence, "of a tensor, which") + at
}

// namesTensor finds the name of a parameter of the solution in a sentence.
var namesTensor = regexp.MustCompile(`\bof \w+, which`)

func sizes(dims map[string]int64) string {
	var words []string
	for name, n := range dims {
		words = append(words, fmt.Sprintf("%s=%d", name, n))
	}
	slices.Sort(words)
	return strings.Join(words, ",")
}

func readRows(path string) ([]row, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []row
	for line := range strings.Lines(string(text)) {
		var r row
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return nil, fmt.Errorf("%s: line %d is no row: %w", path, len(all)+1, err)
		}
		all = append(all, r)
	}
	return all, nil
}

func appendRow(path string, r row) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	text, err := json.Marshal(r)
	if err == nil {
		_, err = f.Write(append(text, '\n'))
	}
	return errors.Join(err, f.Close())
}
