package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"triad/internal/run"
)

// progress shows how far a run is: one line that is redrawn on a terminal, a line now and then elsewhere, nothing below two seconds.
type progress struct {
	mu       sync.Mutex
	out      io.Writer
	terminal bool
	began    time.Time
	last     time.Time
	drawn    bool
}

// quietFor is how long a run may take before anything is said, sayEvery how often a line is written where there is no terminal.
const (
	quietFor = 2 * time.Second
	sayEvery = 30 * time.Second
	drawFor  = 100 * time.Millisecond
)

func (a *app) progress(bool) *progress {
	p := &progress{out: a.err, terminal: isTerminal(a.err), began: time.Now()}
	if !p.terminal {
		p.last = p.began // a log gets its first line when the run turns out to be long
	}
	return p
}

func (p *progress) show(now run.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	interval := sayEvery
	if p.terminal {
		interval = drawFor
	}
	if now.Cases > 0 && now.Case == now.Cases && !p.terminal {
		return // the table says it
	}
	if time.Since(p.began) < quietFor || time.Since(p.last) < interval {
		return
	}
	p.last = time.Now()
	text := now.Text
	if now.Cases > 0 {
		text = fmt.Sprintf("%d of %d cases", now.Case, now.Cases)
		if now.Case >= 3 && 10*now.Case >= now.Cases { // the first cases start the workers: they say nothing of the rest
			left := time.Duration(float64(now.Elapsed) / float64(now.Case) * float64(now.Cases-now.Case))
			text += fmt.Sprintf(", about %v left", left.Round(time.Second))
		}
	}
	if p.terminal {
		fmt.Fprintf(p.out, "\r\x1b[2K%s", text)
		p.drawn = true
		return
	}
	fmt.Fprintf(p.out, "triad: %s\n", text)
}

// clear takes the line away, so that the table stands alone.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drawn {
		fmt.Fprint(p.out, "\r\x1b[2K")
		p.drawn = false
	}
}
