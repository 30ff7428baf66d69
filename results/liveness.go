package results

import (
	"context"
	"database/sql"
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// A live session holds a lock on one byte of the file next to the database, at the offset of its row. The
// kernel drops the lock with the process, however it ends; unlike a process id it cannot be reused and means
// the same in every container that sees the file. The file is opened close-on-exec, so that no worker keeps a
// dead driver's session alive.
type liveness struct {
	file *os.File
	own  map[int64]bool // held through this very descriptor, which its own locks do not stop
}

// livenessSuffix follows the database's name.
const livenessSuffix = "-sessions"

func openLiveness(database string) (*liveness, error) {
	file, err := os.OpenFile(database+livenessSuffix, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	return &liveness{file: file, own: map[int64]bool{}}, nil
}

func byteLock(kind int16, session int64) *unix.Flock_t {
	return &unix.Flock_t{Type: kind, Whence: 0, Start: session, Len: 1}
}

// claim takes the lock of a session; false if another process has it.
func (l *liveness) claim(session int64) (bool, error) {
	err := unix.FcntlFlock(l.file.Fd(), unix.F_OFD_SETLK, byteLock(unix.F_WRLCK, session))
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	l.own[session] = true
	return true, nil
}

// release releases the lock of a session.
func (l *liveness) release(session int64) {
	delete(l.own, session)
	_ = unix.FcntlFlock(l.file.Fd(), unix.F_OFD_SETLK, byteLock(unix.F_UNLCK, session))
}

// alive reports whether some process, this one included, holds the session.
func (l *liveness) alive(session int64) (bool, error) {
	if l.own[session] {
		return true, nil
	}
	lock := byteLock(unix.F_WRLCK, session)
	if err := unix.FcntlFlock(l.file.Fd(), unix.F_OFD_GETLK, lock); err != nil {
		return false, err
	}
	return lock.Type != unix.F_UNLCK, nil
}

// writtenNow reports whether a session in the database behind db is alive: a journal that its process has not
// yet moved to the database is then no sign of an unclean end, and its process has checked the file. If that
// cannot be determined it is false.
func writtenNow(ctx context.Context, db *sql.DB, path string) bool {
	file, err := os.Open(path + livenessSuffix)
	if err != nil {
		return false
	}
	defer file.Close()
	running, err := db.QueryContext(ctx, "SELECT session_id FROM session WHERE state = 'running'")
	if err != nil {
		return false
	}
	defer running.Close()
	l := &liveness{file: file}
	for running.Next() {
		var session int64
		if running.Scan(&session) != nil {
			return false
		}
		if alive, err := l.alive(session); err == nil && alive {
			return true
		}
	}
	return false
}

func (l *liveness) close() error { return l.file.Close() }
