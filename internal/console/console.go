// Package console holds the surroundings of every verb: streams, folders, the database that a flag names, and
// interrupts.
package console

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"triad"

	"golang.org/x/sys/unix"

	"triad/internal/harmless"
	"triad/internal/session"
)

// Usage returns an error of the command line.
func Usage(format string, a ...any) error { return session.UsageError(format, a...) }

// Console holds the surroundings of a verb: streams, triad's own files, environment variables, and what ends
// a command.
type Console struct {
	In       io.Reader
	Out, Err io.Writer
	Files    fs.FS
	Getenv   func(string) string
	Lookup   func(string) (string, bool) // tells an empty variable from an unset one
	Fault    *fault
	Halt     func() // cancels the context of the command
	// Stop is cancelled by the first interrupt: finish the current case. The context of the command is
	// cancelled by the second.
	Stop   context.Context
	AtOnce *atomic.Int32 // parts of the verb that end at the first interrupt: they have nothing to finish
	// InDatabase is the end of printed commands that read what was recorded: " --db FILE" if a flag names it
	InDatabase string
	Screen     *session.Screen // draws progress and asks questions on err
}

// New returns the surroundings of triad as users run it.
func New(in io.Reader, out, errOut io.Writer) *Console {
	return &Console{
		Fault: &fault{}, Halt: func() {}, In: in,
		Out:   harmless.NewWriter(out, IsTerminal(out)),
		Err:   harmless.NewWriter(errOut, IsTerminal(errOut)),
		Files: triad.Files, Getenv: os.Getenv, Lookup: os.LookupEnv,
		Screen: session.NewScreen(errOut, IsTerminal(errOut)), Stop: context.Background(),
		AtOnce: &atomic.Int32{},
	}
}

// Text returns the stream for sentences: the output, or stderr if that holds JSON.
func (c *Console) Text(asJSON bool) io.Writer {
	if asJSON {
		return c.Err
	}
	return c.Out
}

// Flush writes what a stream still holds of an incomplete text.
func (c *Console) Flush() {
	for _, stream := range []io.Writer{c.Out, c.Err} {
		if w, ok := stream.(*harmless.Writer); ok {
			_ = w.Flush() // the reader may be gone
		}
	}
}

// AtFirstInterrupt makes the first Ctrl-C end what runs until the returned function is called: there is
// nothing in it to finish. The function ends what still runs, too.
func (c *Console) AtFirstInterrupt(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	within, over := c.UntilInterrupt(ctx)
	return within, func() {
		over()
		cancel()
	}
}

// UntilInterrupt is AtFirstInterrupt for a part that leaves workers loading for what follows: they go on in
// the background until ctx ends.
func (c *Console) UntilInterrupt(ctx context.Context) (context.Context, func()) {
	within, cancel := context.WithCancel(ctx)
	over := c.EndsAtOnce()
	undo := context.AfterFunc(c.Stop, cancel)
	return within, func() {
		undo()
		over()
	}
}

// EndsAtOnce makes the first Ctrl-C say, until over is called, that triad stops and finishes nothing. Several
// may overlap, as of files that are judged at the same time.
func (c *Console) EndsAtOnce() (over func()) {
	c.AtOnce.Add(1)
	return func() { c.AtOnce.Add(-1) }
}

// DataDir returns the folder of results and the private Python environment, cacheDir that of built libraries.
func (c *Console) DataDir() (string, error) { return c.folder("XDG_DATA_HOME", ".local/share") }

// CacheDir returns the folder of triad's cache. An error says that neither XDG_CACHE_HOME nor a home is set.
func (c *Console) CacheDir() (string, error) { return c.folder("XDG_CACHE_HOME", ".cache") }

func (c *Console) folder(variable, underHome string) (string, error) {
	base := c.Getenv(variable)
	if !filepath.IsAbs(base) { // the XDG specification: a relative path is to be ignored
		home := c.Getenv("HOME")
		if home == "" {
			return "", session.Fail(session.ExitNothing, fmt.Errorf("neither %s nor HOME is set: set one, "+
				"so that triad knows where to keep its files", variable))
		}
		if !filepath.IsAbs(home) {
			return "", session.Fail(session.ExitNothing, fmt.Errorf("HOME is %q, no absolute path: set it "+
				"to one, so that triad knows where to keep its files", home))
		}
		base = filepath.Join(home, underHome)
	}
	return filepath.Join(base, "triad"), nil
}

// Raw returns the stream that writes its input unchanged, for what triad itself draws, moves and annotates.
func Raw(stream io.Writer) io.Writer {
	if w, ok := stream.(*harmless.Writer); ok {
		return w.Unwrap()
	}
	return stream
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	if w, ok := stream.(io.Writer); ok {
		stream = Raw(w)
	}
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
