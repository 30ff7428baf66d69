package session

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"triad/internal/harmless"
	"triad/internal/panics"
	"triad/internal/run"
)

// Progress shows how far a run is, or several runs side by side: one line that is redrawn on a terminal, a
// line now and then elsewhere, nothing in the first two seconds. Its methods may be called from several
// goroutines.
type Progress struct {
	mu       sync.Mutex
	screen   *Screen
	terminal bool
	began    time.Time
	last     time.Time
	parts    map[string]run.Progress // of runs side by side, by name
	doing    string                  // what is done before the first case ends; "" after that
	since    time.Time               // when that began
	ticking  bool
	over     chan struct{}
	broke    func(error) // gets an internal error of the ticking
}

// Nothing is shown of a run for quietFor. After that a line is written every sayEvery without a terminal, and
// drawn every drawFor on one.
const (
	quietFor = 2 * time.Second
	sayEvery = 30 * time.Second
	drawFor  = 100 * time.Millisecond
)

// NewProgress draws on a screen. broke gets an internal error of the goroutine that draws.
func NewProgress(screen *Screen, broke func(error)) *Progress {
	p := &Progress{
		screen: screen, terminal: screen.terminal, began: time.Now(), over: make(chan struct{}), broke: broke,
		parts: map[string]run.Progress{},
	}
	if !p.terminal {
		p.last = p.began // a log gets its first line only if the run turns out to be long
	}
	return p
}

// Part records how far one of several runs is, and shows how far all of them are together.
func (p *Progress) Part(name string, now run.Progress) {
	p.mu.Lock()
	p.parts[name] = now
	var all run.Progress
	for _, one := range p.parts {
		all.Case, all.Cases, all.Elapsed = all.Case+one.Case, all.Cases+one.Cases,
			max(all.Elapsed, one.Elapsed)
	}
	if all.Cases == 0 {
		all.Text = now.Text
	}
	p.mu.Unlock()
	p.Show(all)
}

// Preparing shows what is done before there is a case to count. A terminal shows it with its seconds, updated
// every second.
func (p *Progress) Preparing(words string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.terminal {
		return
	}
	if p.doing == "" {
		p.since = time.Now()
	}
	p.doing = words
	if p.ticking {
		return
	}
	p.ticking = true
	over := p.over
	panics.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case now := <-tick.C:
				p.tick(now)
			}
		}
	}, p.broke)
}

// tick shows what is being prepared, if there is nothing else to show.
func (p *Progress) tick(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.doing == "" || now.Sub(p.began) < quietFor {
		return
	}
	p.last = now
	p.screen.draw(fmt.Sprintf("%s, %d s", p.doing, int(now.Sub(p.since).Seconds())))
}

// Show shows how far a run is.
func (p *Progress) Show(now run.Progress) {
	if p.terminal && now.Cases == 0 && strings.HasPrefix(now.Text, "loading ") {
		p.Preparing(now.Text)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.doing = ""
	interval := sayEvery
	if p.terminal {
		interval = drawFor
	}
	if now.Cases > 0 && now.Case == now.Cases && !p.terminal {
		return // the table shows it
	}
	if time.Since(p.began) < quietFor || time.Since(p.last) < interval {
		return
	}
	p.last = time.Now()
	text := now.Text
	if now.Cases > 0 {
		text = fmt.Sprintf("%d of %d cases", now.Case, now.Cases)
		if now.Case >= 3 && 10*now.Case >= now.Cases {
			// the first cases start the workers: they do not predict the rest
			left := time.Duration(float64(now.Elapsed) / float64(now.Case) * float64(now.Cases-now.Case))
			text += fmt.Sprintf(", about %v left", left.Round(time.Second))
		}
	}
	p.screen.draw(harmless.Line(text))
}

// Clear clears the line, so that the table stands alone.
func (p *Progress) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.doing = ""
	if p.ticking {
		p.ticking = false
		close(p.over)
		p.over = make(chan struct{})
	}
	p.screen.Clear()
}
