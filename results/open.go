package results

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/mattn/go-sqlite3"
	"golang.org/x/sys/unix"
)

// oldestSQLite is the first version without the bug that damages a WAL database when two connections write
// and checkpoint at once.
const oldestSQLite = 3_051_003

// checkedWhenSmall is the size in bytes up to which a database is checked at every opening; a larger one is
// checked only after an unclean end.
const checkedWhenSmall = 8 << 20

// Options are the options for opening a database; the command line uses the zero value.
type Options struct {
	ReadOnly    bool             // never write, never create
	BusyTimeout time.Duration    // how long to wait for another process's lock; 0: 5 s
	Now         func() time.Time // the clock; nil: the system's
	Flag        string           // ends the commands that errors name: " --db FILE"; "" if none is needed
}

// Store is an open database. Its methods may be called from several goroutines.
type Store struct {
	path   string
	writer *sql.DB // one connection; nil if the store is read-only
	reader *sql.DB
	notice string
	flag   string
	now    func() time.Time

	mu   sync.Mutex // guards live
	live *liveness

	patience  time.Duration
	reopening sync.Mutex // guards reader and source of a store that only reads
	source    source
}

// Open opens the database at path, creates it (and its folder) if there is none, and brings its schema up to
// date. A file that is not ours or is damaged is left untouched and is an error. A database of a newer
// program is opened read-only; Notice says so.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	return open(ctx, path, o, nil)
}

// open is Open with the steps of the schema given by a test; nil: those of this program.
func open(ctx context.Context, path string, o Options, steps []migration) (*Store, error) {
	if version, number, _ := sqlite3.Version(); number < oldestSQLite {
		return nil, fmt.Errorf("open %s: SQLite %s may damage databases, want 3.51.3 or newer: build with "+
			"a newer go-sqlite3", path, version)
	}
	if steps == nil {
		var err error
		if steps, err = migrations(schemaFiles); err != nil {
			return nil, err
		}
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	if o.BusyTimeout == 0 {
		o.BusyTimeout = 5 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Store{path: path, flag: o.Flag, now: o.Now, patience: o.BusyTimeout}
	found, err := inspect(ctx, path, o.BusyTimeout)
	if err != nil {
		return nil, err
	}
	if found.version > len(steps) {
		s.notice = fmt.Sprintf("%s was written by a newer triad (schema %d, this one knows %d): opened "+
			"read-only; update triad to write to it, or give another file with --db",
			path, found.version, len(steps))
		o.ReadOnly = true
	}
	if o.ReadOnly && !found.exists {
		return nil, fmt.Errorf("open %s: %w: record something first, or give another file with --db", path,
			missing(path))
	}
	outdated := found.version > 0 && found.version < len(steps) // its tables lack what reading asks for
	if !o.ReadOnly || outdated {
		err := s.openWriter(ctx, o, steps)
		if err == nil && o.ReadOnly {
			err = s.Close()
			s.writer, s.live = nil, nil
		}
		if err != nil {
			s.Close()
			return nil, err
		}
	}
	if s.source, err = sourceOf(path, o.BusyTimeout); err == nil {
		s.reader, err = openReader(s.source.dsn)
	}
	if err != nil {
		s.Close()
		return nil, explain("open", path, err)
	}
	return s, nil
}

// emptyFile is the error of a file without contents, which counts as a missing one.
type emptyFile struct{}

func (emptyFile) Error() string        { return "the file is empty" }
func (emptyFile) Is(target error) bool { return target == os.ErrNotExist }

// missing returns why there is nothing to read at a path.
func missing(path string) error {
	if _, err := os.Stat(path); err == nil {
		return emptyFile{}
	}
	return os.ErrNotExist
}

// openWriter opens the one connection that writes, creating file and schema if they are missing.
func (s *Store) openWriter(ctx context.Context, o Options, steps []migration) error {
	if err := os.MkdirAll(filepath.Dir(s.path), 0o755); err != nil {
		return fmt.Errorf("make the folder of the database: %w: %s", err, elsewhere)
	}
	var err error
	dsn := writeDSN(s.path, o.BusyTimeout, onNetwork(s.path))
	if s.writer, err = sql.Open(boundedDriver, dsn); err != nil {
		return explain("open", s.path, err)
	}
	s.writer.SetMaxOpenConns(1)
	if err := pingUntil(ctx, s.writer, o.BusyTimeout); err != nil {
		return explain("open", s.path, err)
	}
	copied := false
	backup := func(version int) string {
		copied = true
		// another process may migrate now
		return fmt.Sprintf("%s.schema%d-%s-%d", s.path, version, s.now().UTC().Format("20060102T150405.000"),
			os.Getpid())
	}
	if err := migrate(ctx, s.writer, steps, backup); err != nil {
		return explain("migrate", s.path, err)
	}
	if copied {
		if err := removeOldCopies(s.path); err != nil {
			return fmt.Errorf("remove old copies of %s: %w", s.path, err)
		}
	}
	if s.live, err = openLiveness(s.path); err != nil {
		return fmt.Errorf("open %s%s, which says what sessions are alive: %w: make its folder writable, or "+
			"give another file with --db", s.path, livenessSuffix, err)
	}
	return nil
}

// pingUntil connects, and retries while another process is switching the file to WAL: SQLite does not wait
// for that lock.
func pingUntil(ctx context.Context, db *sql.DB, patience time.Duration) error {
	deadline := time.Now().Add(patience)
	for {
		err := db.PingContext(ctx)
		var code sqlite3.Error
		if err == nil || !errors.As(err, &code) || code.Code != sqlite3.ErrBusy ||
			time.Now().After(deadline) {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// facts holds the findings of inspect.
type facts struct {
	exists  bool
	version int
}

// elsewhere is advice for a place that cannot be used.
const elsewhere = "give another file with --db, or set XDG_DATA_HOME to a folder that can be written"

// inspect reads the file without writing to it and refuses one that is not ours or is damaged. Only SQLite
// opens the file: closing a descriptor of one's own would drop the locks that SQLite holds in this process.
func inspect(ctx context.Context, path string, patience time.Duration) (facts, error) {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) || err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		return facts{}, nil
	}
	if err != nil {
		return facts{}, fmt.Errorf("open the database: %w: %s", err, elsewhere)
	}
	if !info.Mode().IsRegular() {
		return facts{}, fmt.Errorf("open %s: %w: it is no regular file; give another file with --db",
			path, ErrForeign)
	}
	db, err := sql.Open(boundedDriver, readDSN(path, patience))
	if err != nil {
		return facts{}, explain("open", path, err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	var id int64
	var tables int
	f := facts{exists: true}
	look := func() error {
		row := db.QueryRowContext(ctx, "SELECT (SELECT * FROM pragma_application_id), (SELECT * FROM "+
			"pragma_user_version), (SELECT count(*) FROM sqlite_schema)")
		return row.Scan(&id, &f.version, &tables)
	}
	err = look()
	var code sqlite3.Error
	if errors.As(err, &code) && code.ExtendedCode == sqlite3.ErrReadonlyRollback {
		if err = rollBack(ctx, path, patience); err == nil {
			err = look()
		}
	}
	if err != nil {
		return facts{}, explain("open", path, err)
	}
	if id == 0 && f.version == 0 && tables == 0 {
		return facts{}, nil // created, and cut off before its first table
	}
	if id != applicationID {
		return facts{}, fmt.Errorf("open %s: %w (application id %#x, want %#x): nothing was written; give "+
			"another file with --db", path, ErrForeign, id, applicationID)
	}
	if info.Size() <= checkedWhenSmall || endedUncleanly(path) && !writtenNow(ctx, db, path) {
		err = check(ctx, db, path)
	}
	return f, err
}

// rollBack undoes what a killed writer had written to the file itself, as one does that creates the database
// or has it on a network file system. SQLite does so by itself on the first read, but not through a read-only
// connection.
func rollBack(ctx context.Context, path string, patience time.Duration) error {
	db, err := sql.Open(boundedDriver, fmt.Sprintf("%s?mode=rw&_busy_timeout=%d", fileURI(path),
		patience.Milliseconds()))
	if err != nil {
		return err
	}
	defer db.Close()
	var tables int
	return db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables)
}

// endedUncleanly reports whether there is a non-empty journal next to the database: its last writer lives, or
// was killed.
func endedUncleanly(path string) bool {
	for _, journal := range []string{"-wal", "-journal"} {
		if info, err := os.Stat(path + journal); err == nil && info.Size() > 0 {
			return true
		}
	}
	return false
}

// check asks SQLite whether pages and foreign keys are intact.
func check(ctx context.Context, db *sql.DB, path string) error {
	damaged := func(what string) error {
		return damagedDatabase("check", path, what)
	}
	var said string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&said); err != nil {
		return explain("check", path, err)
	}
	if said != "ok" {
		return damaged(said)
	}
	rows, err := db.QueryContext(ctx, "PRAGMA foreign_key_check")
	if err != nil {
		return explain("check", path, err)
	}
	defer rows.Close()
	if rows.Next() {
		return damaged("a row refers to one that is not there")
	}
	return explain("check", path, rows.Err())
}

// Close ends the store; sessions that are still open count as interrupted from then on.
func (s *Store) Close() error {
	var errs []error
	for _, db := range []*sql.DB{s.reader, s.writer} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	if s.live != nil {
		errs = append(errs, s.live.close())
	}
	return errors.Join(errs...)
}

// Path returns the absolute path of the database.
func (s *Store) Path() string { return s.path }

// ReadOnly reports whether the store cannot record.
func (s *Store) ReadOnly() bool { return s.writer == nil }

// Notice returns a sentence that the user should read, or "".
func (s *Store) Notice() string { return s.notice }

// fileURI returns path as a file: URI: without the prefix SQLite takes mode=ro for a part of the name and
// opens the file for writing.
func fileURI(path string) string {
	return (&url.URL{Scheme: "file", OmitHost: true, Path: path}).String()
}

// keptStatements is the number of prepared statements that a connection keeps: recording a result runs about
// ten, and preparing them took as long as running them.
const keptStatements = 64

func writeDSN(path string, patience time.Duration, network bool) string {
	journal := "WAL"
	if network {
		journal = "DELETE" // a write-ahead log needs shared memory, which a network file system does not have
	}
	return fmt.Sprintf(
		"%s?_journal_mode=%s&_synchronous=FULL&_foreign_keys=on&_busy_timeout=%d&_txlock=immediate"+
			"&_stmt_cache_size=%d", fileURI(path), journal, patience.Milliseconds(), keptStatements)
}

// immutable declares to SQLite that nothing writes to the file.
const immutable = "&immutable=1"

func readDSN(path string, patience time.Duration) string {
	dsn := fmt.Sprintf("%s?mode=ro&_query_only=on&_busy_timeout=%d&_stmt_cache_size=%d", fileURI(path),
		patience.Milliseconds(), keptStatements)
	if unix.Access(filepath.Dir(path), unix.W_OK) != nil && !endedUncleanly(path) {
		// SQLite cannot make its -shm file here, and neither can a writer.
		dsn += immutable
	}
	return dsn
}

// onNetwork reports whether path lies on a file system that another machine serves.
func onNetwork(path string) bool {
	var fs unix.Statfs_t
	if unix.Statfs(filepath.Dir(path), &fs) != nil {
		return false
	}
	switch uint32(fs.Type) {
	case unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC,
		unix.AFS_SUPER_MAGIC, unix.AFS_FS_MAGIC,
		unix.CEPH_SUPER_MAGIC, unix.CODA_SUPER_MAGIC, unix.V9FS_MAGIC, lustreMagic, gpfsMagic, beegfsMagic:
		return true
	}
	return false
}

// File systems of clusters that golang.org/x/sys does not name.
const (
	lustreMagic = 0x0BD00BD0
	gpfsMagic   = 0x47504653
	beegfsMagic = 0x19830326
)
