// Package worker starts worker processes, watches over them and speaks the driver's side of the wire: process
// groups, deadlines, a ring of their output, shared memory. Both adapters, cuda and pybridge, use it.
package worker

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"unicode"

	"golang.org/x/sys/unix"

	"triad/internal/backend"
	"triad/internal/panics"
	"triad/internal/scratch"
	"triad/internal/subprocess"
)

// Command describes how to start a worker. Env is its whole environment; Dir its working directory, a fresh
// temporary folder if empty.
type Command struct {
	Path string
	Args []string
	Env  []string
	Dir  string

	Most  subprocess.Usage // limits for it and all that it starts
	Boxed bool             // Path runs the worker: see subprocess.Command

	Files []*os.File // descriptors 5 and following of the worker; they stay the caller's
	Ended func()     // called once, when the worker has ended or could not be started; may be nil
	// Exceeded describes the use that the process was killed for that forked the worker, "" if it was not;
	// nil: no such process
	Exceeded func() string
}

// logBytes is the number of bytes of a worker's output that are kept for error reports.
const logBytes = 8 << 10

// process is one running worker: a child in a process group of its own with a socket and shared memory.
type process struct {
	child   *subprocess.Process
	conn    *os.File
	memory  []byte
	log     *ring
	replies chan []byte     // closed when the connection ends
	fault   error           // an internal error of ours that ended the reader; set before replies is closed
	dir     *scratch.Folder // nil: it works in a folder of its caller's
	grace   subprocess.Grace
	gone    func() // Command.Ended
	// exceeded is Command.Exceeded
	exceeded func() string

	mu    sync.Mutex
	ended bool
}

// unreadable keeps a worker from reading the truth in this process's memory: it may run as the same user. (As
// root it could all the same.)
var unreadable = sync.OnceValue(func() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) })

// started counts the workers of this process: the number marks the processes that each of them starts, which
// may leave its group.
var started atomic.Int64

// start runs the command with descriptor 3 a socket and descriptor 4 sealed shared memory of memoryBytes
// (sparse).
func start(c Command, memoryBytes int64, grace subprocess.Grace,
	kill func(int, syscall.Signal) error,
) (*process, error) {
	if c.Ended == nil {
		c.Ended = func() {}
	}
	if c.Exceeded == nil {
		c.Exceeded = func() string { return "" }
	}
	p, err := run(c, memoryBytes, grace, kill)
	if err != nil {
		c.Ended()
	}
	return p, err
}

func run(c Command, memoryBytes int64, grace subprocess.Grace,
	kill func(int, syscall.Signal) error,
) (*process, error) {
	if err := unreadable(); err != nil {
		return nil, fmt.Errorf("close this process's memory to its workers: %w", err)
	}
	ours, theirs, err := connection()
	if err != nil {
		return nil, fmt.Errorf("socketpair for %s: %w", c.Path, err)
	}
	defer theirs.Close()
	memoryFile, memory, err := sharedMemory(memoryBytes)
	if err != nil {
		ours.Close()
		return nil, err
	}
	defer memoryFile.Close()

	p := &process{conn: ours, memory: memory, replies: make(chan []byte, 4), grace: grace}
	p.gone, p.exceeded = c.Ended, c.Exceeded
	fail := func(err error) (*process, error) {
		ours.Close()
		unix.Munmap(memory)
		p.removeDir()
		return nil, err
	}
	if c.Dir == "" {
		if p.dir, err = scratch.Make("worker"); err != nil {
			return fail(&backend.Unavailable{Sentence: fmt.Sprintf("no folder for temporary files can be "+
				"made (%v): set TMPDIR to one that can be written", err)})
		}
		c.Dir = p.dir.Path
	}
	var printed *os.File
	if p.log, printed, err = newRing(logBytes); err != nil {
		return fail(fmt.Errorf("make a pipe for what %s prints: %w", c.Path, err))
	}
	defer printed.Close()
	mark := fmt.Sprintf("TRIAD_WORKER=%d-%d", os.Getpid(), started.Add(1))
	if c.Env == nil {
		c.Env = os.Environ()
	}
	p.child, err = subprocess.Start(subprocess.Command{
		Path: c.Path, Args: c.Args, Env: append(slices.Clone(c.Env), mark), Mark: mark, Dir: c.Dir,
		Files:  append([]*os.File{theirs, memoryFile}, c.Files...),
		Stdout: printed, Stderr: printed, Grace: grace, Kill: kill,
		Most: c.Most, Boxed: c.Boxed,
	})
	if err != nil {
		p.log.Close()
		return fail(fmt.Errorf("start %s: %w", c.Path, err))
	}
	panics.Go(p.log.follow, func(error) {})
	panics.Go(func() {
		defer close(p.replies)
		p.fault = panics.Call(p.read)
	}, func(error) {})
	return p, nil
}

// connection makes a pair of sockets, one for the driver and one for the worker.
func connection() (ours, theirs *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	if err := unix.SetNonblock(pair[0], true); err != nil { // before NewFile: so closing it wakes the reader
		return nil, nil, err
	}
	return os.NewFile(uintptr(pair[0]), "worker"), os.NewFile(uintptr(pair[1]), "worker"), nil
}

// sharedMemory makes a memory file that can neither shrink nor grow, and maps it.
func sharedMemory(bytes int64) (*os.File, []byte, error) {
	fd, err := unix.MemfdCreate("triad", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, nil, fmt.Errorf("create shared memory: %w", err)
	}
	file := os.NewFile(uintptr(fd), "memory")
	if err := unix.Ftruncate(fd, bytes); err != nil {
		file.Close()
		return nil, nil, fmt.Errorf("size shared memory to %d bytes: %w", bytes, err)
	}
	if _, err := unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW); err != nil {
		file.Close()
		return nil, nil, fmt.Errorf("seal shared memory: %w", err)
	}
	memory, err := unix.Mmap(fd, 0, int(bytes), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_SHARED|unix.MAP_NORESERVE)
	var space unix.Rlimit
	if errors.Is(err, unix.ENOMEM) && unix.Getrlimit(unix.RLIMIT_AS, &space) == nil &&
		space.Cur < uint64(2*bytes) {
		file.Close()
		return nil, nil, &backend.Unavailable{Sentence: fmt.Sprintf("this process may have %d bytes of "+
			"address space (ulimit -v), and each worker shares a sparse memory of %d with it: run triad "+
			"without that limit; a control group limits memory itself", space.Cur, bytes)}
	}
	if err != nil {
		file.Close()
		return nil, nil, fmt.Errorf("map %d bytes of shared memory: %w", bytes, err)
	}
	return file, memory, nil
}

// read reads lines from the connection until it ends, so that a child never blocks on a full socket.
func (p *process) read() {
	r := bufio.NewReaderSize(p.conn, 64<<10)
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > backend.MaxLine:
			return
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			return
		}
		p.replies <- line
		line = nil
	}
}

func (p *process) removeDir() {
	if p.dir != nil {
		p.dir.Remove()
	}
}

// end stops the worker with all that it started, and frees its resources. It reports whether the child was
// reaped.
func (p *process) end() (reaped bool) {
	p.mu.Lock()
	if p.ended {
		p.mu.Unlock()
		return p.child.Reaped()
	}
	p.ended = true
	p.mu.Unlock()

	reaped = p.child.End()
	p.conn.Close()
	p.log.Close()
	if reaped {
		unix.Munmap(p.memory)
		p.memory = nil
	} // else the child may still hold the pages: the mapping is left to the end of this process
	p.removeDir()
	for range p.replies { // let the reader go
	}
	p.gone()
	return reaped
}

// colours are the sequences with which compilers colour their messages.
var colours = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// withoutControls makes text safe to print: a worker's output comes from the code that is judged, and an
// escape sequence could wipe its own verdict off the screen. Colours are removed; line ends and tabs stay.
func withoutControls(text string) string {
	text = colours.ReplaceAllString(text, "")
	return strings.Map(func(c rune) rune {
		if c == '\n' || c == '\t' || unicode.IsGraphic(c) {
			return c
		}
		return '?'
	}, strings.ToValidUTF8(text, "?"))
}

// printable turns a worker's output into one line, since a separate line could look like one of the report's.
func printable(text string) string {
	var lines []string
	for line := range strings.Lines(withoutControls(text)) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "; ")
}
