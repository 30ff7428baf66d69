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
	"triad/internal/worker"
)

// Family is the first part of the names of submissions, as of all files of a user's own.
const Family = "mine"

// Submission is one file, judged as the backend that it is.
type Submission struct {
	*worker.Adapter
	Implementation string // mine/STEM
	Path           string // absolute
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

// New returns the backend of a submission that adapter runs.
func New(adapter *worker.Adapter, path, implementation string) *Submission {
	adapter.BackendName, adapter.FamilyNames = implementation, []string{Family}
	adapter.Slot, adapter.Slots = func(string) string { return Family }, nil
	return &Submission{adapter, implementation, path}
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
		}
		failed.Implementation, failed.Message = s.Implementation, advice.ExplainBuild(failed.Message)
		reply.Failed = []backend.LoadFailure{failed}
	}
	return reply, hello, err
}
