// Package describer runs the processes that describe published problems: each has imported torch, and forks a
// child for every problem. internal/problem reads what they say.
package describer

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"triad/internal/panics"
	"triad/internal/problem"
	"triad/internal/subprocess"
)

const (
	// Longest limits the processor time of the code of one problem while it is described.
	Longest = 90 * time.Second
	// waiting is the permitted ratio of wall time to processor time, which other processes share:
	// pybridge/problems/problem_inspect.py has the same.
	waiting = 20
)

// MostMemory limits the bytes of memory of a process that describes problems: several run at the same time.
const MostMemory = 4 << 30

// patience extends the time that an answer may take: the process starts, and ends what the problem started.
const patience = 60 * time.Second

// Describer describes problems, each in a forked child of a process that has imported torch. Several
// goroutines may share one: each has its own process.
type Describer struct {
	start func(context.Context) (subprocess.Command, error)
	idle  chan *inspector
}

// New returns a Describer whose processes start makes.
func New(start func(context.Context) (subprocess.Command, error)) *Describer {
	return &Describer{start, make(chan *inspector, mostIdle)}
}

// mostIdle is the maximum number of processes that wait for a problem.
const mostIdle = 64

// Describe returns what a process that may run a problem's code says about it.
func (d *Describer) Describe(ctx context.Context, r problem.Request) ([]byte, error) {
	r.Seconds = int(Longest / time.Second)
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	var i *inspector
	select {
	case i = <-d.idle:
	default:
		if i, err = d.open(ctx); err != nil {
			return nil, &problem.StartError{Err: err}
		}
	}
	answer, err := i.ask(ctx, append(text, '\n'))
	if err != nil {
		return nil, i.close(err)
	}
	select {
	case d.idle <- i:
	default:
		i.end()
	}
	return answer, nil
}

// Close ends the processes that wait for a problem.
func (d *Describer) Close() {
	for {
		select {
		case i := <-d.idle:
			i.end()
		default:
			return
		}
	}
}

// inspector is a process that describes problems.
type inspector struct {
	process  *subprocess.Process
	requests *os.File
	answers  *os.File
	lines    *bufio.Reader
}

func (d *Describer) open(ctx context.Context) (*inspector, error) {
	c, err := d.start(ctx)
	if err != nil {
		return nil, err
	}
	stdin, requests, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer stdin.Close()
	answers, stdout, err := os.Pipe()
	if err != nil {
		requests.Close()
		return nil, err
	}
	defer stdout.Close()
	c.Stdin, c.Stdout = stdin, stdout
	process, err := subprocess.Start(c)
	if err != nil {
		requests.Close()
		answers.Close()
		return nil, err
	}
	return &inspector{process, requests, answers, bufio.NewReaderSize(answers, 1<<16)}, nil
}

// ask returns the answer to a request.
func (i *inspector) ask(ctx context.Context, request []byte) ([]byte, error) {
	stop := context.AfterFunc(ctx, func() { i.answers.SetReadDeadline(time.Now()) })
	defer stop()
	i.answers.SetReadDeadline(time.Now().Add(waiting*Longest + patience))
	sent := make(chan error, 1)
	panics.Go(func() { // a process that ended reads nothing
		_, err := i.requests.Write(request)
		sent <- err
	}, func(err error) { sent <- err })
	var text []byte
	for {
		more, err := i.lines.ReadSlice('\n')
		text = append(text, more...)
		switch {
		case err == nil:
			return text, <-sent
		case len(text) > problem.MostDescription:
			return nil, fmt.Errorf("its description has more than %d bytes", problem.MostDescription)
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, fmt.Errorf("running it took more than %v", waiting*Longest)
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, errEnded
		}
	}
}

var errEnded = errors.New("the process that ran it ended")

// end ends a process.
func (i *inspector) end() {
	i.requests.Close()
	i.process.End()
	i.answers.Close()
}

// close ends a process that gave no answer, and says why.
func (i *inspector) close(err error) error {
	if errors.Is(err, errEnded) && i.process.Wait(patience) {
		if why := i.process.Exceeded(); why != "" {
			err = fmt.Errorf("running it was stopped: %s", why)
		} else if how, _ := i.process.Exit(); how != "" {
			err = fmt.Errorf("the process that ran it %s", how)
		}
	}
	i.end()
	return err
}
