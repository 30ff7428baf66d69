package console

import (
	"triad/internal/session"
)

// Progress shows how far a run is, on stderr.
func (c *Console) Progress() *session.Progress {
	return session.NewProgress(c.Screen, c.Broke)
}
