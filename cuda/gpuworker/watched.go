package gpuworker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"triad/internal/check"
	"triad/internal/subprocess"
)

// Watched is a user's program that the tools watch one after the other.
type Watched struct {
	Tool            Sanitizer
	File            string // of its source
	Folder, Program string // the tools write their reports into the folder
	Args            []string
	Input           []byte        // its standard input under every tool
	Limit           time.Duration // of a run
}

// Check adds every tool's findings to a report. The end of the program adds nothing if a tool found
// something.
func (w *Watched) Check(ctx context.Context, found *check.Report) error {
	var reported []check.Finding
	for _, name := range Sanitizers {
		err := w.run(ctx, name)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		report, readErr := ReadReports(name, w.Folder)
		if readErr != nil {
			return readErr
		}
		if report.Processes == 0 || report.Cut > 0 || errors.Is(err, subprocess.ErrDeadline) {
			found.Unfinished = append(found.Unfinished, name)
			found.Notes = append(found.Notes, fmt.Sprintf("%s did not watch the program to its end%s.", name,
				because(err)))
		} else {
			found.Sanitizers = append(found.Sanitizers, name)
		}
		for _, f := range report.Findings {
			reported = append(reported, f.reported(w.File))
		}
	}
	if len(reported) > 0 {
		found.Findings = reportedOnce(reported)
	}
	return nil
}

func because(err error) string {
	if err == nil {
		return ""
	}
	return fmt.Sprintf(": %v", err)
}

// run runs the program once under a tool.
func (w *Watched) run(ctx context.Context, name string) error {
	input := filepath.Join(w.Folder, "input")
	if err := os.WriteFile(input, w.Input, 0o600); err != nil {
		return fmt.Errorf("write the program's standard input: %w", err)
	}
	stdin, err := os.Open(input)
	if err != nil {
		return fmt.Errorf("open the program's standard input: %w", err)
	}
	defer stdin.Close()
	c := w.Tool.Program(name, w.Folder, w.Program, w.Args)
	c.Mark = "TRIAD_CHECKED_BY=" + w.Folder
	c.Stdin, c.Stdout, c.Env, c.Deadline = stdin, io.Discard, append(os.Environ(), c.Mark), w.Limit
	_, err = subprocess.Run(ctx, c)
	return err
}
