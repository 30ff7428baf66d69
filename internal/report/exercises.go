package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"triad/internal/exercise"
	"triad/internal/op"
	"triad/internal/record"
)

// Exercises writes exercises, which of them are done, and the next one.
func Exercises(w io.Writer, style Style, all []exercise.Exercise, done map[string]exercise.Pass) error {
	rows := make([][]string, len(all))
	for i, e := range all {
		when, idea := "", e.Idea
		if p, is := done[e.Name]; is {
			when = p.Time.Local().Format(time.DateOnly)
		}
		if e.Task != "" {
			idea += " [task: " + e.Task + "]"
		}
		rows[i] = []string{fmt.Sprint(e.Day), e.Name, languageOf(e), when, idea}
	}
	if err := style.Table(w, "", columns(">day", "exercise", "in", "done", "idea"), rows); err != nil {
		return err
	}
	next := exercise.Next(all, done)
	if next == nil {
		return write(w, fmt.Sprintf("\n%d of %d done: all of them.\n", len(done), len(all)))
	}
	return write(w, fmt.Sprintf("\n%d of %d done. Next: %s, %s.\n  triad learn %s\n", len(done), len(all),
		next.Name, next.Idea, next.Name))
}

// languageOf returns CUDA or Triton.
func languageOf(e exercise.Exercise) string {
	if strings.HasSuffix(e.File, ".py") {
		return "Triton"
	}
	return "CUDA"
}

// Exercise writes the page of an exercise whose starter was written to a file.
func Exercise(w io.Writer, e exercise.Exercise, file string) error {
	quoted := record.ShellQuote(file)
	pass := ""
	if e.Pass == op.Backward {
		pass = " --pass backward"
	}
	task := ""
	if e.Task != "" {
		task = "\nThis is a task of the hundred days: " + e.Task + ".\n"
	}
	return write(w, fmt.Sprintf(`%s was written: %s, %s.

%s
%s
Judge it, and again at each save; Ctrl-C ends that:
  triad %s
Every case, as a table:
  triad compare %s%s --impl mine --add %s
The exercise is done when it is right. Keep the file's name: triad learn goes by it.
A solution: triad learn %s --solution
`, file, e.Name, e.Idea, e.Watch, task, quoted, e.Op, pass, quoted, e.Name))
}
