package worker

import (
	"fmt"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// ring keeps the last bytes of a worker's output, however long it is.
type ring struct {
	file *os.File // the end of the pipe that is read
	conn syscall.RawConn

	mu    sync.Mutex
	limit int
	buf   []byte
	total int64
}

// newRing returns a ring of limit bytes, and the file that a worker prints to.
func newRing(limit int) (*ring, *os.File, error) {
	from, to, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	conn, err := from.SyscallConn()
	if err != nil {
		from.Close()
		to.Close()
		return nil, nil, err
	}
	return &ring{file: from, conn: conn, limit: limit}, to, nil
}

// follow reads the output until the last writer has closed the pipe, so that no worker blocks on a full one.
func (r *ring) follow() { _ = r.conn.Read(r.drain) }

// drain reads what is in the pipe and reports whether it reached the end.
func (r *ring) drain(fd uintptr) (ended bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	chunk := make([]byte, 32<<10)
	for {
		n, err := unix.Read(int(fd), chunk)
		switch {
		case err == unix.EINTR:
		case err == unix.EAGAIN:
			return false
		case err != nil || n == 0:
			return true
		default:
			r.keep(chunk[:n])
		}
	}
}

func (r *ring) keep(b []byte) {
	r.total += int64(len(b))
	r.buf = append(r.buf, b[max(0, len(b)-r.limit):]...)
	if over := len(r.buf) - r.limit; over > 0 {
		r.buf = append(r.buf[:0], r.buf[over:]...)
	}
}

// Tail returns the kept text, made printable, with a note of what was dropped. It has all that the worker
// printed before it sent the reply that the caller read: what follow has not read yet is still in the pipe.
func (r *ring) Tail() string {
	_ = r.conn.Control(func(fd uintptr) { r.drain(fd) }) // an error: it is closed, and was read to its end
	r.mu.Lock()
	defer r.mu.Unlock()
	text := withoutControls(string(r.buf))
	if dropped := r.total - int64(len(r.buf)); dropped > 0 {
		return fmt.Sprintf("[%d bytes before this are not kept]\n%s", dropped, text)
	}
	return text
}

// Close ends follow. The output so far is kept.
func (r *ring) Close() {
	_ = r.conn.Control(func(fd uintptr) { r.drain(fd) })
	r.file.Close()
}
