package session

import (
	"fmt"
	"io"
	"sync"
)

// Screen is a writer for messages to a person, with at most one line of progress at its end. It clears the
// line before it writes anything else, and draws none while a question waits for its answer. Its methods may
// be called from several goroutines.
type Screen struct {
	mu       sync.Mutex
	out      io.Writer
	terminal bool
	drawn    bool
	asking   int
}

// NewScreen writes to out, which is a terminal or not.
func NewScreen(out io.Writer, terminal bool) *Screen { return &Screen{out: out, terminal: terminal} }

// Write writes a message.
func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	return s.out.Write(p)
}

// Ask writes a question and returns what answer returns.
func (s *Screen) Ask(question string, answer func() string) string {
	s.mu.Lock()
	s.clear()
	fmt.Fprint(s.out, question)
	s.asking++
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.asking--
		s.mu.Unlock()
	}()
	return answer()
}

// draw redraws the line of progress on a terminal, and writes a line elsewhere.
func (s *Screen) draw(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.asking > 0:
	case s.terminal:
		fmt.Fprintf(s.out, "\r\x1b[2K%s", text)
		s.drawn = true
	default:
		fmt.Fprintf(s.out, "triad: %s\n", text)
	}
}

// Clear clears the line of progress.
func (s *Screen) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
}

func (s *Screen) clear() {
	if s.drawn {
		fmt.Fprint(s.out, "\r\x1b[2K")
		s.drawn = false
	}
}
