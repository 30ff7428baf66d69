package results

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// readTransaction only reads. Each of its statements is stopped when the context ends.
type readTransaction struct {
	ctx context.Context
	tx  *sql.Tx
}

// read begins a read transaction; it ends with Rollback.
func (s *Store) read(ctx context.Context) (readTransaction, error) {
	db, err := s.readers(ctx)
	if err != nil {
		return readTransaction{}, err
	}
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	return readTransaction{ctx, tx}, err
}

// Query asks for rows.
func (r readTransaction) Query(query string, args ...any) (*sql.Rows, error) {
	return r.tx.QueryContext(r.ctx, query, args...)
}

// QueryRow asks for one row.
func (r readTransaction) QueryRow(query string, args ...any) *sql.Row {
	return r.tx.QueryRowContext(r.ctx, query, args...)
}

// Rollback ends the transaction.
func (r readTransaction) Rollback() error { return r.tx.Rollback() }

// source identifies the file that connections read, and how. SQLite notices no change of a file in a
// read-only folder (immutable), so its size and time are included.
type source struct {
	dsn          string
	device, node uint64
	size         int64
	changed      time.Time
}

func sourceOf(path string, patience time.Duration) (source, error) {
	info, err := os.Stat(path)
	if err != nil {
		return source{}, err
	}
	now := source{dsn: readDSN(path, patience)}
	if file, known := info.Sys().(*syscall.Stat_t); known {
		now.device, now.node = uint64(file.Dev), file.Ino
	}
	if strings.Contains(now.dsn, immutable) {
		now.size, now.changed = info.Size(), info.ModTime()
	}
	return now, nil
}

// readers returns the connections to read with. A read-only store opens new ones if another file has replaced
// its own, or if SQLite would not notice that it changed.
func (s *Store) readers(ctx context.Context) (*sql.DB, error) {
	if s.writer != nil {
		return s.reader, nil
	}
	s.reopening.Lock()
	defer s.reopening.Unlock()
	now, err := sourceOf(s.path, s.patience)
	if err != nil {
		return nil, fmt.Errorf("%w: the database was there when it was opened: put it back, or give another "+
			"file with --db", err)
	}
	if now == s.source {
		return s.reader, nil
	}
	steps, err := migrations(schemaFiles)
	if err != nil {
		return nil, err
	}
	found, err := inspect(ctx, s.path, s.patience)
	if err != nil {
		return nil, err
	}
	if found.version < len(steps) {
		return nil, fmt.Errorf(
			"%w: a database of an older triad (schema %d) has taken its place: start this "+
				"command again, which brings it up to date",
			ErrPlace,
			found.version,
		)
	}
	db, err := openReader(now.dsn)
	if err != nil {
		return nil, err
	}
	err = s.reader.Close()
	s.reader, s.source = db, now
	return db, err
}

// openReader opens connections that only read.
func openReader(dsn string) (*sql.DB, error) {
	db, err := sql.Open(boundedDriver, dsn)
	if err == nil {
		db.SetMaxOpenConns(2)
	}
	return db, err
}
