package problem

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/google/renameio/v2"
)

// Verdict reports whether a problem can tell a right submission from a wrong one.
type Verdict string

// The verdicts: its own check passes no trivial answer; it passes some; its answer does not depend on its
// inputs; triad cannot tell.
const (
	Sound       Verdict = "sound"
	Weak        Verdict = "weak"
	Constant    Verdict = "constant"
	Unjudgeable Verdict = "unjudgeable"
)

// Audited is the row of a problem in the table of an audit.
type Audited struct {
	Problem string   `json:"problem"` // the name of its operator
	Format  string   `json:"format"`
	SHA256  string   `json:"sha256"`
	Verdict Verdict  `json:"verdict"`
	Passes  []string `json:"passes,omitempty"` // the trivial answers that its own check accepts
	Why     string   `json:"why,omitempty"`    // of constant or unjudgeable, without an exception's message
}

// Reason returns a remark on the verdict, "" for none.
func (a *Audited) Reason() string {
	if a.Verdict == Weak {
		return "its own check accepts " + strings.Join(a.Passes, ", and ")
	}
	return a.Why
}

// Audit configures the audit of problems.
type Audit struct {
	Describe Describe
	Elements int64 // to how many the tensors of a problem's own sizes are cut
	// Folder keeps the rows, so that a stopped audit goes on. Version identifies the code that made them.
	Folder, Version string
}

// All audits problems, several at the same time, and tells their rows in order. It ends with the first error
// of tell or of ctx; a row that cannot be made for a reason that every problem would meet ends it too.
func (a *Audit) All(ctx context.Context, found []Problem, tell func(Audited) error) error {
	if err := os.MkdirAll(a.Folder, 0o755); err != nil {
		return fmt.Errorf("keep the rows of the audit: %w", err)
	}
	type made struct {
		row Audited
		err error
	}
	return inOrder(ctx, len(found), func(ctx context.Context, i int) made {
		row, err := a.one(ctx, found[i])
		return made{row, err}
	}, func(_ int, m made) error {
		if m.err != nil {
			return m.err
		}
		return tell(m.row)
	})
}

// one audits a problem, or finds its row.
func (a *Audit) one(ctx context.Context, p Problem) (Audited, error) {
	row := Audited{Problem: p.Operator, Format: p.Format}
	source, err := read(ctx, p)
	if err != nil {
		row.Verdict, row.Why = Unjudgeable, err.Error()
		return row, nil
	}
	row.SHA256 = source.SHA256
	kept := filepath.Join(a.Folder, a.key(&row)+".json")
	if text, err := os.ReadFile(kept); err == nil && json.Unmarshal(text, &row) == nil {
		return row, nil
	}
	request := source.request(p)
	request.Elements = a.Elements
	text, err := a.Describe(ctx, request)
	if start := (*StartError)(nil); errors.As(err, &start) {
		return row, err
	}
	if ctx.Err() != nil {
		return row, context.Cause(ctx)
	}
	row.judge(text, err)
	if err != nil {
		return row, nil // the process failed, not the problem: the next audit tries it again
	}
	if text, err = json.Marshal(row); err == nil {
		err = renameio.WriteFile(kept, text, 0o644, renameio.WithTempDir(a.Folder))
	}
	if err != nil {
		return row, fmt.Errorf("keep the row of %s: %w", p.Operator, err)
	}
	return row, nil
}

func (a *Audit) key(row *Audited) string {
	all := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s\x00%s\x00%d", a.Version, row.Format, row.Problem,
		row.SHA256, a.Elements))
	return hex.EncodeToString(all[:16])
}

// message matches the message of an exception, which is the problem's text or torch's.
var message = regexp.MustCompile(`( raised \w+): .*`)

// judge sets the verdict that a description shows, or the reason why there is none.
func (a *Audited) judge(text []byte, err error) {
	var d *Description
	if err == nil {
		d, err = parseDescription(text)
	}
	var refused *refusal
	switch {
	case errors.As(err, &refused) && refused.constant:
		a.Verdict, a.Why = Constant, refused.Error()
	case err != nil:
		a.Verdict, a.Why = Unjudgeable, message.ReplaceAllString(err.Error(), "$1")
	case len(d.Weak) > 0:
		a.Verdict, a.Passes = Weak, d.Weak
	default:
		a.Verdict = Sound
	}
}
