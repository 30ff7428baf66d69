package fleet

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"triad/internal/panics"
	"triad/internal/subprocess"
)

// Ray is the engine that hands shards to a Ray cluster, a task each, by way of a Python that has ray
// (pybridge/fleet/ray_engine.py). Nodes need no common file system with the driver.
type Ray struct {
	Python, Script string
	Triad          string // the binary that travels to the nodes
	Address        string // "": the cluster of this machine, or a new one
	GPUs           int    // that a task wants
	Folder         Folder
	Files          []string // that travel to the nodes too, paths from the root

	process *subprocess.Process
	to      *os.File
	answers chan string
	stderr  *tail
}

// Deadlines of the engine's answers: it connects, or it hands over and asks.
const (
	connects = time.Minute
	answers  = 2 * time.Minute
)

// Start connects to the cluster. The error says why it cannot.
func (r *Ray) Start(ctx context.Context) error {
	input, to, err := os.Pipe()
	if err != nil {
		return err
	}
	from, output, err := os.Pipe()
	if err != nil {
		return errors.Join(err, input.Close(), to.Close())
	}
	args := []string{"-u", r.Script, "--triad", r.Triad, "--gpus", strconv.Itoa(r.GPUs)}
	if len(r.Files) > 0 {
		list := r.Folder.in("files.json")
		if err := writeJSON(list, r.Files); err != nil {
			return errors.Join(err, input.Close(), to.Close(), from.Close(), output.Close())
		}
		args = append(args, "--files", list)
	}
	if r.Address != "" {
		args = append(args, "--address", r.Address)
	}
	r.stderr, r.to, r.answers = &tail{}, to, make(chan string, 1)
	r.process, err = subprocess.Start(subprocess.Command{
		Path: r.Python, Args: args, Env: os.Environ(), Stdin: input, Stdout: output, Stderr: r.stderr,
	})
	input.Close() // its ends are its own: when it is gone, nothing more can be read
	output.Close()
	if err != nil {
		r.process = nil
		return errors.Join(fmt.Errorf("start ray's Python: %w", err), to.Close(), from.Close())
	}
	panics.Go(func() {
		defer from.Close()
		lines := bufio.NewScanner(from)
		lines.Buffer(nil, 1<<24)
		for lines.Scan() {
			r.answers <- lines.Text()
		}
		close(r.answers)
	}, func(error) {})
	return r.answer(ctx, connects, nil)
}

// Close ends the engine and the connection to the cluster.
func (r *Ray) Close() {
	if r.process != nil {
		r.to.Close()
		if !r.process.Wait(10 * time.Second) {
			r.process.End()
		}
	}
}

// Submit hands over shards.
func (r *Ray) Submit(ctx context.Context, folder Folder, shards []int) error {
	at, err := filepath.Abs(string(folder))
	if err != nil {
		return err
	}
	return r.ask(ctx, map[string]any{"submit": map[string]any{"folder": at, "shards": shards}}, nil)
}

// Gone lists the shards whose tasks have ended; what they left is in the folder then.
func (r *Ray) Gone(ctx context.Context, shards []int) (map[int]string, error) {
	var answer struct{ Gone map[string]string }
	if err := r.ask(ctx, map[string]any{"gone": shards}, &answer); err != nil {
		return nil, err
	}
	gone := map[int]string{}
	for text, why := range answer.Gone {
		if shard, err := strconv.Atoi(text); err == nil {
			gone[shard] = why
		}
	}
	return gone, nil
}

// Log returns the path of a shard's log, which exists once its task has ended.
func (r *Ray) Log(folder Folder, shard int) string { return folder.in("log-%d.txt", shard) }

// Cancel asks all tasks to end.
func (r *Ray) Cancel(ctx context.Context, atOnce bool) error {
	return r.ask(ctx, map[string]any{"cancel": atOnce}, nil)
}

// ask makes one request.
func (r *Ray) ask(ctx context.Context, request map[string]any, into any) error {
	text, err := json.Marshal(request)
	if err != nil {
		return err
	}
	if _, err := r.to.Write(append(text, '\n')); err != nil {
		return r.ended()
	}
	return r.answer(ctx, answers, into)
}

// ended returns the error of an engine that has exited, with its last output.
func (r *Ray) ended() error {
	r.process.Wait(2 * time.Second) // its output is complete then
	return fmt.Errorf("ray's Python has ended: %s", r.stderr)
}

// answer reads the answer to one request.
func (r *Ray) answer(ctx context.Context, within time.Duration, into any) error {
	select {
	case line, open := <-r.answers:
		var answer struct{ Error string }
		switch err := json.Unmarshal([]byte(line), &answer); {
		case !open:
			return r.ended()
		case err != nil:
			return fmt.Errorf("ray's Python answered %q", line)
		case answer.Error != "":
			return errors.New(answer.Error)
		}
		if into == nil {
			return nil
		}
		return json.Unmarshal([]byte(line), into)
	case <-time.After(within):
		return fmt.Errorf("ray at %q does not answer within %v", r.Address, within)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// tail keeps the last line written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

var _ io.Writer = (*tail)(nil)

// Write keeps the end of the text.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-4096):]
	return len(p), nil
}

// String returns the last line.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.text)), "\n")
	return lines[len(lines)-1]
}
