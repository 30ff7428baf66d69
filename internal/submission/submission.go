// Package submission is the backend of submissions to imported problems: each runs in a worker of its own,
// through an operator file that calls it as the format of its problem says. Nothing of it is guessed.
package submission

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/google/renameio/v2"

	"triad/internal/advice"
	"triad/internal/backend"
	"triad/internal/fileversion"
	"triad/internal/op"
	"triad/internal/worker"
)

// Family is the first part of the names of submissions, as of all files of a user's own.
const Family = "mine"

// Submission is one file, judged as the backend that it is.
type Submission struct {
	*worker.Adapter
	Implementation string // mine/STEM
	Path           string // absolute
	makes          func(backend.Job) bool
}

var _ backend.Backend = (*Submission)(nil)

// Write puts the operator file that calls a submission into a folder of the cache, and returns the folder.
// problem is the folder of the problem, module the Python module that knows its format.
func Write(cache, operator, problem, module, path, implementation string) (folder string, err error) {
	key := sha256.Sum256([]byte(problem + "\x00" + path + "\x00" + implementation))
	folder = filepath.Join(cache, "own", hex.EncodeToString(key[:8]))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", backend.UnusableCache("the code that calls "+path, folder, err)
	}
	text := fmt.Sprintf("from %s import submission\n\nIMPLEMENTATIONS = submission(%s, %s, %s)\n", module,
		strconv.QuoteToASCII(problem), strconv.QuoteToASCII(path), strconv.QuoteToASCII(implementation))
	file := filepath.Join(folder, operator+".py")
	if err := renameio.WriteFile(file, []byte(text), 0o644, renameio.WithTempDir(folder)); err != nil {
		return "", backend.UnusableCache("the code that calls "+path, folder, err)
	}
	return folder, nil
}

// New returns the backend of a submission that adapter runs. makes reports whether the format itself makes a
// call.
func New(adapter *worker.Adapter, path, implementation string, makes func(backend.Job) bool) *Submission {
	adapter.BackendName, adapter.FamilyNames = implementation, []string{Family}
	adapter.Slot, adapter.Slots = func(string) string { return Family }, nil
	return &Submission{adapter, implementation, path, makes}
}

// Run runs a job. The process that declines a call is the submission's own, so that the driver decides which
// calls it may decline: none that the format makes.
func (s *Submission) Run(ctx context.Context, job backend.Job) (backend.Outcome, error) {
	outcome, err := s.Adapter.Run(ctx, job)
	if err == nil {
		explain(&outcome, job.Empty(), s.makes(job))
	}
	return outcome, err
}

// explain turns a launch of 0 blocks by a call that has nothing to write into a decline, and a decline of a
// call that the format makes into a failure.
func explain(outcome *backend.Outcome, empty, made bool) {
	if empty {
		advice.ExplainEmpty(outcome, false)
	}
	if made && (outcome.Status == op.StatusUnsupported || outcome.Status == op.StatusUnavailable) {
		outcome.Sentence = "it declines a call that the format makes, at the problem's own sizes: " +
			outcome.Sentence
		outcome.Status = op.StatusFail
	}
}

// Load imports the submission. What fails is a failure of this implementation.
func (s *Submission) Load(ctx context.Context, operator string) (backend.LoadReply, backend.HelloReply,
	error,
) {
	reply, hello, err := s.Adapter.Load(ctx, operator)
	for i := range reply.Implementations {
		reply.Implementations[i].Source = fileversion.Hash(nil, s.Path)
	}
	if len(reply.Failed) > 0 {
		failed := reply.Failed[0]
		if _, raised, inFile := strings.Cut(failed.Message, "ImportError: triad: "); inFile {
			failed.Message = raised // with the line of the submission
			if sentence, missing := strings.CutPrefix(raised, "not here: "); missing {
				failed.Status, failed.Message = op.StatusUnavailable, sentence
			}
		}
		failed.Implementation, failed.Message = s.Implementation, advice.ExplainBuild(failed.Message)
		reply.Failed = []backend.LoadFailure{failed}
	}
	return reply, hello, err
}
