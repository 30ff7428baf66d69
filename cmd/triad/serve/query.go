package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"triad/internal/serve"
	"triad/internal/subprocess"
)

// Limits of the process of a query: what it prints holds at most the rows that triad results query allows,
// with the names of their columns in each.
const (
	mostPrinted   = 64 << 20
	queryDeadline = 10 * time.Second
)

// queries runs typed SQL with triad results query, in a process of its own: the limit of memory that SQLite
// takes for it holds for all of a process, and stays.
func queries(database string) func(context.Context, string, map[string]string, string) (serve.Rows, error) {
	return func(ctx context.Context, statement string, params map[string]string, format string) (
		serve.Rows, error,
	) {
		triad, err := os.Executable()
		if err != nil {
			return serve.Rows{}, fmt.Errorf("find triad itself: %w", err)
		}
		args := []string{"results", "query", "--db", database, "--format", format}
		for name, value := range params {
			args = append(args, "--param", name+"="+value)
		}
		var stderr bytes.Buffer
		text, err := subprocess.Run(ctx, subprocess.Command{
			Path: triad, Args: append(args, "--", statement), Stderr: &stderr, MostOutput: mostPrinted,
			Deadline: queryDeadline,
		})
		words := strings.TrimPrefix(strings.TrimSpace(stderr.String()), "triad: ")
		words = strings.TrimPrefix(words, "query: ")
		var failed *exec.ExitError
		switch {
		case errors.As(err, &failed) && words != "":
			return serve.Rows{}, serve.Refused(words)
		case err != nil:
			return serve.Rows{}, fmt.Errorf("query: %w", err)
		}
		return serve.Rows{Text: []byte(text), Cut: words}, nil
	}
}
