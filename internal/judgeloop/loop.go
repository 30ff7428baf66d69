package judgeloop

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"triad/internal/panics"
)

// mostLine limits a line of stdin.
const mostLine = 16 << 20

// mostAhead limits the results that wait for that of an earlier line: a slow candidate holds up no lane.
const mostAhead = 256

// line is one line of stdin, and where its result goes.
type line struct {
	number int
	text   []byte
	err    error // it is too long
	result chan *Result
}

// Serve judges a job a line, as many at once as there are lanes, and writes a result a line in the order of
// the jobs. It ends with the input, with ctx, or when nothing can be written any more; at the end of ctx the
// results that are there are written, also those behind a job that is not done. A line that is no job has a
// result too. judge may be called from several goroutines, at most one for each lane.
func Serve(ctx context.Context, in io.Reader, out io.Writer, lanes int, blind bool,
	judge func(ctx context.Context, lane int, j *Job) *Result,
) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	work, order := make(chan line), make(chan (chan *Result), mostAhead)
	var group panics.Group
	for lane := range lanes {
		group.Go(func() {
			for {
				select {
				case l, more := <-work:
					if !more {
						return
					}
					r := one(ctx, lane, l, blind, judge)
					if ctx.Err() != nil { // it says that it was stopped
						r = nil
					}
					l.result <- r
				case <-ctx.Done(): // the next line may never come
					return
				}
			}
		})
	}
	reading := make(chan error, 1)
	panics.Go(func() {
		reading <- read(ctx, in, work, order)
		close(work)
		close(order)
	}, func(err error) {
		reading <- err
		close(work)
		close(order)
	})
	err := write(ctx, out, order)
	stop()
	err = errors.Join(err, group.Wait())
	select {
	case broken := <-reading:
		return errors.Join(err, broken)
	default: // it waits for a line
		return err
	}
}

// write writes the results in the order of the lines, until there are no more or ctx ends; then it writes
// those that are there.
func write(ctx context.Context, out io.Writer, order <-chan (chan *Result)) error {
	for {
		var result chan *Result
		more := false
		select {
		case result, more = <-order:
		case <-ctx.Done():
			select {
			case result, more = <-order:
			default:
			}
		}
		if !more {
			return nil
		}
		var r *Result
		select {
		case r = <-result:
		case <-ctx.Done():
			select {
			case r = <-result:
			default:
			}
		}
		if r == nil { // it was stopped
			continue
		}
		text, err := json.Marshal(r)
		if err == nil {
			_, err = out.Write(append(text, '\n'))
		}
		if err != nil {
			return fmt.Errorf("write a result: %w", err)
		}
	}
}

// one judges a line. A fault of triad's own is the result of this line alone.
func one(ctx context.Context, lane int, l line, blind bool,
	judge func(ctx context.Context, lane int, j *Job) *Result,
) (r *Result) {
	began := time.Now()
	var j *Job
	fault := panics.Call(func() {
		var err error
		if j, err = ParseJob(l.text); l.err != nil || err != nil {
			r = Refused(errors.Join(l.err, err))
			if l.err != nil {
				r = Refused(l.err)
			}
			return
		}
		j.Blind = j.Blind || blind
		r = judge(ctx, lane, j)
	})
	if fault != nil {
		r = Refused(fmt.Errorf("an internal error of triad: %w", fault))
	}
	if j != nil {
		r.ID = j.ID
	}
	r.Line, r.Seconds = l.number, time.Since(began).Seconds()
	return r
}

// read hands every line on until the input ends. Empty lines are none.
func read(ctx context.Context, in io.Reader, work chan<- line, order chan<- (chan *Result)) error {
	lines := bufio.NewReaderSize(in, 1<<16)
	for n := 1; ; n++ {
		text, err := readLine(lines)
		end := errors.Is(err, io.EOF)
		l := line{n, text, nil, make(chan *Result, 1)}
		if errors.Is(err, errLong) {
			l.err, err = err, nil
		}
		if err != nil && !end {
			return fmt.Errorf("read line %d: %w", n, err)
		}
		if len(text) == 0 && l.err == nil {
			if end {
				return nil
			}
			continue
		}
		select {
		case order <- l.result:
		case <-ctx.Done():
			return nil
		}
		select {
		case work <- l:
		case <-ctx.Done():
			return nil
		}
		if end {
			return nil
		}
	}
}

var errLong = fmt.Errorf("the line has more than %d bytes", mostLine)

// readLine returns a line without its end. Of a line that is too long the rest is dropped.
func readLine(in *bufio.Reader) ([]byte, error) {
	var text []byte
	long := false
	for {
		part, err := in.ReadSlice('\n')
		if !long {
			text = append(text, part...)
		}
		long = long || len(text) > mostLine
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		for len(text) > 0 && (text[len(text)-1] == '\n' || text[len(text)-1] == '\r') {
			text = text[:len(text)-1]
		}
		if long {
			return nil, errLong
		}
		return text, err
	}
}
