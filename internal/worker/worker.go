package worker

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"time"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/subprocess"
)

// Death is the error of a worker that ended, or was killed, before it replied.
type Death struct {
	Status   op.Status // CRASH, HANG or OOM
	Sentence string
	Log      string
	Wedged   bool // it survived SIGKILL
}

func (d *Death) Error() string { return d.Sentence }

// Options holds the settings of workers that tests and flags change.
type Options struct {
	Limits      Limits
	Grace       subprocess.Grace
	MemoryBytes int64                                 // of shared memory; sparse, so large costs nothing
	Kill        func(pid int, s syscall.Signal) error // nil: the system call
	Pending     *Pending                              // lists the requests in flight; may be nil
	// Transcript gets every line of the wire behind "> " (to a worker) or "< "; nil: there is none.
	Transcript io.Writer
}

func (o Options) withDefaults() Options {
	if o.Limits == (Limits{}) {
		o.Limits = DefaultLimits
	}
	if o.Grace == (subprocess.Grace{}) {
		o.Grace = subprocess.DefaultGrace
	}
	if o.MemoryBytes == 0 {
		o.MemoryBytes = 64 << 30
	}
	if o.Kill == nil {
		o.Kill = syscall.Kill
	}
	return o
}

// worker is a live process that said hello. One goroutine at a time may use it.
type worker struct {
	*process
	hello      backend.HelloReply
	nextID     int64
	transcript io.Writer
}

// said adds a line to the transcript.
func (w *worker) said(side string, line []byte) {
	if w.transcript != nil {
		_, _ = fmt.Fprintf(w.transcript, "%s %s\n", side, bytes.TrimSpace(line))
	}
}

// open starts a process and greets it.
func open(ctx context.Context, c Command, o Options) (*worker, error) {
	p, err := start(c, o.MemoryBytes, o.Grace, o.Kill)
	if err != nil {
		return nil, err
	}
	w := &worker{process: p, transcript: o.Transcript}
	err = w.call(ctx, backend.Request{
		Do:    backend.DoHello,
		Hello: &backend.HelloArgs{Protocol: backend.Protocol, MemoryBytes: o.MemoryBytes},
	},
		o.Limits.Import, "import", &w.hello)
	if err == nil && w.hello.Protocol != backend.Protocol {
		err = fmt.Errorf("worker %s speaks protocol %d, want %d: it belongs to another version of triad",
			c.Path, w.hello.Protocol, backend.Protocol)
		w.end()
	}
	if err != nil {
		return nil, err
	}
	return w, nil
}

// call sends one request and waits for its reply. A worker that dies, hangs past the deadline or breaks the
// protocol is ended, and the error is a *Death. phase names the deadline in sentences.
func (w *worker) call(ctx context.Context, r backend.Request, deadline time.Duration, phase string,
	result any,
) error {
	w.nextID++
	r.ID = w.nextID
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode %s: %w", r.Do, err)
	}
	if len(line) >= backend.MaxLine {
		return fmt.Errorf("request %s: %d bytes, at most %d", r.Do, len(line), backend.MaxLine)
	}
	timer := time.NewTimer(deadline)
	defer timer.Stop()
	w.said(">", line)
	_ = w.conn.SetWriteDeadline(time.Now().Add(deadline))
	if _, err := w.conn.Write(append(line, '\n')); err != nil {
		return w.bury(r.Do)
	}
	looks := time.NewTicker(stoppedEvery)
	defer looks.Stop()
	for {
		select {
		case reply, ok := <-w.replies:
			return w.answered(reply, ok, r, result)
		case <-w.child.Exited(): // a child of its own may hold the socket for ever
			select {
			case reply, ok := <-w.replies: // it came first
				return w.answered(reply, ok, r, result)
			case <-time.After(lastWords):
				return w.bury(r.Do)
			}
		case <-looks.C:
			if w.child.Stopped() {
				return w.stopped(r.Do)
			}
		case <-timer.C:
			return w.hang(r.Do, phase, deadline)
		case <-ctx.Done():
			w.end()
			return ctx.Err()
		}
	}
}

const (
	// stoppedEvery is the interval at which a worker that has not answered is checked for having been
	// stopped.
	stoppedEvery = 2 * time.Second
	// lastWords is the time that the reply of an ended worker may take through the socket.
	lastWords = 200 * time.Millisecond
)

// answered handles the reply to a request; if ok is false, the connection ended.
func (w *worker) answered(reply []byte, ok bool, r backend.Request, result any) error {
	if !ok && w.fault != nil {
		w.end()
		return w.fault
	}
	if !ok {
		return w.bury(r.Do)
	}
	w.said("<", reply)
	return w.decode(reply, r, result)
}

func (w *worker) decode(line []byte, r backend.Request, result any) error {
	var reply backend.Reply
	if err := json.Unmarshal(line, &reply); err != nil {
		return w.garbage(fmt.Sprintf("a line that is no reply: %.80q", line))
	}
	if reply.ID != r.ID {
		return w.garbage(fmt.Sprintf("reply %d to request %d", reply.ID, r.ID))
	}
	if reply.Error != "" {
		return fmt.Errorf("%s: %s", r.Do, reply.Error)
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(reply.Result, result); err != nil {
		return w.garbage(fmt.Sprintf("a %s reply that cannot be read: %v", r.Do, err))
	}
	return nil
}

// bury returns how a worker ended whose connection broke.
func (w *worker) bury(do backend.Do) error {
	w.child.Wait(w.grace.Term) // the connection breaks a moment before the process is reaped
	// A child that closed its socket and lives on has not ended by itself: end() kills it, and the exit would
	// be ours.
	alive := !w.child.Reaped()
	reaped := w.end()
	d := &Death{Status: op.StatusCrash, Log: w.log.Tail(), Wedged: !reaped}
	exceeded := cmp.Or(w.child.Exceeded(), w.exceeded())
	switch {
	case !reaped:
		d.Sentence = fmt.Sprintf("closed its connection during %s and survived SIGKILL", do)
	case exceeded != "":
		d.Sentence = fmt.Sprintf(
			"was killed during %s: %s (--no-sandbox lifts the limits of the sandbox)",
			do,
			exceeded,
		)
	case alive:
		d.Sentence = fmt.Sprintf("closed its connection during %s without an answer", do)
	default:
		sentence, signal := w.child.Exit()
		d.Sentence = fmt.Sprintf("%s during %s, before it answered", sentence, do)
		if signal == syscall.SIGKILL {
			d.Status = op.StatusOOM
			d.Sentence = "was killed by SIGKILL, which triad did not send: probably the host ran out of " +
				"memory"
		}
	}
	if last := lastLine(d.Log); last != "" {
		d.Sentence += "; it last printed: " + last
	}
	return d
}

func (w *worker) hang(do backend.Do, phase string, deadline time.Duration) error {
	reaped := w.end()
	d := &Death{
		Status: op.StatusHang, Log: w.log.Tail(), Wedged: !reaped,
		Sentence: fmt.Sprintf("no answer to %s within %v and was killed (--limit %s=... changes this)", do,
			deadline.Round(time.Millisecond), phase),
	}
	if !reaped {
		d.Sentence = fmt.Sprintf("no answer to %s within %v, and the process %d survived SIGKILL for %v", do,
			deadline.Round(time.Millisecond),
			w.child.PID(), w.grace.Kill)
	}
	return d
}

// stopped ends a worker that was stopped, by itself or by the code it runs: it would never answer.
func (w *worker) stopped(do backend.Do) error {
	reaped := w.end()
	return &Death{
		Status: op.StatusHang, Log: w.log.Tail(), Wedged: !reaped,
		Sentence: fmt.Sprintf("it was stopped by a signal during %s, as SIGSTOP does, and was killed: it "+
			"would never have answered", do),
	}
}

func (w *worker) garbage(what string) error {
	reaped := w.end()
	return &Death{Status: op.StatusCrash, Log: w.log.Tail(), Wedged: !reaped, Sentence: "sent " + what +
		", and was ended"}
}

// close says bye and ends the worker, waiting only a moment for its own exit.
func (w *worker) close() (reaped bool) {
	w.nextID++
	if line, err := json.Marshal(backend.Request{ID: w.nextID, Do: backend.DoBye}); err == nil {
		w.said(">", line)
		_ = w.conn.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = w.conn.Write(append(line, '\n'))
	}
	w.child.Wait(w.grace.Term)
	return w.end()
}

// asDeath returns the *Death in an error, or nil.
func asDeath(err error) *Death {
	var d *Death
	if errors.As(err, &d) {
		return d
	}
	return nil
}

func lastLine(log string) string {
	lines := strings.Split(strings.TrimSpace(log), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	if len(last) > 160 {
		last = last[:160] + "..."
	}
	return last
}
