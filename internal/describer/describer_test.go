package describer

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"triad/internal/problem"
	"triad/internal/subprocess"
)

// TestDescriberKeepsItsProcess: one process answers request after request. One that ends without an answer
// costs that problem alone, with how it ended, and another is started for the next.
func TestDescriberKeepsItsProcess(t *testing.T) {
	var started atomic.Int32
	d := New(func(context.Context) (subprocess.Command, error) {
		started.Add(1)
		return subprocess.Command{Path: "/bin/sh", Args: []string{"-c", `while read -r line; do
			case "$line" in *'"end"'*) exit 7;; esac
			echo "{\"refused\": \"$(echo "$line" | tr -cd 0-9)\"}"; done`}}, nil
	})
	defer d.Close()
	for file, want := range map[string]string{"a1": "190", "b2": "290"} {
		text, err := d.Describe(t.Context(), problem.Request{File: file})
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %s, %v", file, text, err)
		}
	}
	if started.Load() != 1 {
		t.Errorf("%d processes for two problems", started.Load())
	}
	if _, err := d.Describe(t.Context(), problem.Request{File: "end"}); err == nil ||
		err.Error() != "the process that ran it exited 7" {
		t.Errorf("a process that ends: %v", err)
	}
	if _, err := d.Describe(t.Context(), problem.Request{File: "c3"}); err != nil || started.Load() != 2 {
		t.Errorf("the problem after it: %v, %d processes", err, started.Load())
	}
	none := New(func(context.Context) (subprocess.Command, error) {
		return subprocess.Command{}, os.ErrNotExist
	})
	if _, err := none.Describe(t.Context(), problem.Request{}); !errors.Is(err, os.ErrNotExist) ||
		!errors.As(err, new(*problem.StartError)) {
		t.Errorf("no process: %v", err)
	}
}
