package judgeloop

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"triad/internal/opfolder"
	"triad/internal/problem"
	"triad/internal/record"
)

// Judge judges jobs. What starts processes is the caller's.
type Judge struct {
	// Folder holds the operators' folders of problems that are imported here, and the texts of references. A
	// version of what describes problems has a folder of its own.
	Folder string
	// Describe describes problems.
	Describe problem.Describe
	// Open opens the folder of an imported problem.
	Open func(ctx context.Context, folder string) (Problem, error)
	// Lanes run the candidates, one at a time in each.
	Lanes []*Lane
	// Trusted: nothing runs in a sandbox
	Trusted bool

	mu   sync.Mutex
	warm []*warm // the one that was used last comes last
}

// Problem is an imported problem whose truth stays warm. Several goroutines may use it.
type Problem interface {
	Name() string
	Judge(ctx context.Context, c Candidate) (Found, error)
	Close() error
}

// NoSubmission: a file is none that the format asks for, and its candidate is wrong. Any other error is
// that of the job, whose candidate is neither right nor wrong.
type NoSubmission struct{ Err error }

func (e *NoSubmission) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *NoSubmission) Unwrap() error { return e.Err }

// Found holds what a problem found out about a candidate.
type Found struct {
	Records []record.Record
	Stopped bool // further cases were not judged
	Kernels Kernels
}

// Kernels lists what one call of a candidate ran; Unknown says why it is not, or not completely, known.
type Kernels struct {
	Names   []string
	Unknown string
}

// Candidate is a candidate as a problem judges it.
type Candidate struct {
	*Job
	Lane *Lane
	Path string // of its file, in the lane's folder
}

// Lane runs one candidate at a time.
type Lane struct {
	Folder string // with the candidate's files; the sandbox of the lane shows it
	// Reset removes what the last candidate left
	Reset func(ctx context.Context) error
	// Own belongs to the opener of problems
	Own any
}

// warm is a problem that is open.
type warm struct {
	key   string
	ready chan struct{} // closed when it is open, or could not be opened
	Problem
	err   error
	users int
}

// mostWarm limits the problems whose truth stays warm.
const mostWarm = 4

// Job judges a job in a lane.
func (g *Judge) Job(ctx context.Context, lane int, j *Job) *Result {
	r, err := g.judge(ctx, g.Lanes[lane], j)
	if err != nil {
		r = Refused(err)
	}
	if r.Sandbox = "bubblewrap"; g.Trusted {
		r.Sandbox = "none"
	}
	return r
}

func (g *Judge) judge(ctx context.Context, lane *Lane, j *Job) (*Result, error) {
	folder, err := g.folderOf(ctx, j)
	if err != nil {
		return nil, err
	}
	p, err := g.open(ctx, folder)
	if err != nil {
		return nil, err
	}
	defer g.leave(p)
	path, shown, err := lane.put(j.Candidate)
	if err != nil {
		return nil, err
	}
	if err := lane.Reset(ctx); err != nil {
		return nil, err
	}
	inWords := strings.NewReplacer("--add "+path, shown, path, shown,
		" (--limit first-cpu=... changes this)", byTimeout, " (--limit first=... changes this)", byTimeout,
		" (--limit call=... changes this)", byTimeout, " (--limit build=... changes this)", byTimeout)
	done, err := p.Judge(ctx, Candidate{j, lane, path})
	if n := (*NoSubmission)(nil); errors.As(err, &n) {
		return notASubmission(p.Name(), inWords.Replace(err.Error())), nil
	}
	if err != nil {
		return nil, errors.New(inWords.Replace(err.Error()))
	}
	if len(done.Records) == 0 {
		return nil, errors.New("no case of the problem was judged")
	}
	for i := range done.Records {
		done.Records[i].Message = inWords.Replace(done.Records[i].Message)
	}
	r := ResultOf(done, j.Blind)
	r.Problem, r.Kernels, r.Unlisted = p.Name(), done.Kernels.Names, done.Kernels.Unknown
	return r, nil
}

// byTimeout names the field of a job that changes a limit.
const byTimeout = " (timeout_s changes this)"

// put writes a candidate's file, and the further ones of its job, into the lane's folder. shown is its name
// in messages.
func (l *Lane) put(s *Source) (path, shown string, err error) {
	text, name, err := s.Read()
	if err != nil {
		return "", "", err
	}
	if s.Name != "" && filepath.Ext(name) == ".py" {
		text = calling(text, s.Name)
	}
	if err := os.RemoveAll(l.Folder); err != nil {
		return "", "", err
	}
	// the sandbox shows the folder above, which stays
	if err := os.MkdirAll(l.Folder, 0o755); err != nil {
		return "", "", err
	}
	path, shown = filepath.Join(l.Folder, name), s.File
	if shown == "" {
		shown = "the candidate"
	}
	for further, content := range s.Files {
		if further == name {
			return "", "", fmt.Errorf("two files of the candidate are called %s", name)
		}
		if err := os.WriteFile(filepath.Join(l.Folder, further), []byte(content), 0o644); err != nil {
			return "", "", err
		}
	}
	return path, shown, os.WriteFile(path, []byte(text), 0o644)
}

// folderOf returns the folder of the operator of a job's problem, which is imported where it is not yet.
func (g *Judge) folderOf(ctx context.Context, j *Job) (string, error) {
	path := j.Problem
	if j.Reference != nil {
		text, _, err := j.Reference.Read()
		if err != nil {
			return "", err
		}
		if path, err = g.keep(problemText(text, j.Reference.Name, j.Inputs), j.Reference.Name); err != nil {
			return "", err
		}
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("there is no problem %s", path)
	} else if _, err := os.Stat(filepath.Join(path, opfolder.ProblemFile)); info.IsDir() && err == nil {
		return path, nil
	}
	found, err := problem.List(path, "")
	if err != nil {
		return "", err
	}
	if len(found) != 1 {
		return "", fmt.Errorf("%s holds %d problems that triad imports: want one", path, len(found))
	}
	content, err := os.ReadFile(found[0].Path)
	if err != nil {
		return "", err
	}
	into := filepath.Join(g.Folder, short(content, []byte(found[0].Path)))
	g.mu.Lock()
	defer g.mu.Unlock() // two jobs of one problem import it once
	done, err := problem.Import(ctx, found[0], into, g.Describe)
	if err != nil {
		return "", fmt.Errorf("the problem cannot be judged: %w", err)
	}
	return done.Folder, nil
}

// keep writes the text of a problem into a file whose name depends on it.
func (g *Judge) keep(text, name string) (string, error) {
	folder := filepath.Join(g.Folder, short([]byte(text)))
	path := filepath.Join(folder, strings.ToLower(strings.Trim(name, "_"))+".py")
	if have, err := os.ReadFile(path); err == nil && string(have) == text {
		return path, nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	return path, os.WriteFile(path, []byte(text), 0o644)
}

func short(parts ...[]byte) string {
	digest := sha256.Sum256(bytes.Join(parts, []byte{0}))
	return hex.EncodeToString(digest[:8])
}

// open returns the open problem of a folder. A folder that was changed is opened again.
func (g *Judge) open(ctx context.Context, folder string) (*warm, error) {
	key, err := contentsOf(folder)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	w := g.take(key)
	if w == nil {
		w = &warm{key: key, ready: make(chan struct{})}
		g.warm = append(g.warm, w)
		w.users++
		g.mu.Unlock()
		w.Problem, w.err = g.Open(ctx, folder)
		close(w.ready)
	} else {
		w.users++
		g.mu.Unlock()
		<-w.ready
	}
	if w.err != nil {
		g.mu.Lock()
		g.drop(w) // the next job tries again
		g.mu.Unlock()
		return nil, w.err
	}
	return w, nil
}

// take returns an open problem, and makes it the one that was used last.
func (g *Judge) take(key string) *warm {
	for i, w := range g.warm {
		if w.key == key {
			g.warm = append(append(g.warm[:i:i], g.warm[i+1:]...), w)
			return w
		}
	}
	return nil
}

func (g *Judge) drop(w *warm) {
	g.warm = slices.DeleteFunc(g.warm, func(other *warm) bool { return other == w })
}

// leave ends the use of a problem. The one that was not used for the longest is closed if too many are open.
func (g *Judge) leave(w *warm) {
	g.mu.Lock()
	w.users--
	var oldest *warm
	if len(g.warm) > mostWarm && g.warm[0].users == 0 {
		oldest, g.warm = g.warm[0], g.warm[1:]
	}
	g.mu.Unlock()
	if oldest != nil {
		_ = oldest.Close() // the judge reports leftovers when it ends
	}
}

// Close closes all problems.
func (g *Judge) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	var errs []error
	for _, w := range g.warm {
		errs = append(errs, w.Close())
	}
	g.warm = nil
	return errors.Join(errs...)
}

// contentsOf identifies a folder and the contents of its files.
func contentsOf(folder string) (string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return "", err
	}
	parts := [][]byte{[]byte(folder)}
	for _, e := range entries {
		if e.Type().IsRegular() {
			content, err := os.ReadFile(filepath.Join(folder, e.Name()))
			if err != nil {
				return "", err
			}
			parts = append(parts, []byte(e.Name()), content)
		}
	}
	return short(parts...), nil
}
