package results

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"triad/internal/panics"

	"github.com/mattn/go-sqlite3"
)

// Limits bounds the cost of SQL that a user typed; a zero field takes the default.
type Limits struct {
	Deadline  time.Duration // 2 s
	Rows      int           // 10,000
	Bytes     int           // of the result: 8 MiB
	HeapBytes int           // of SQLite in this process: 32 MB
}

func (l Limits) orDefaults() Limits {
	if l.Deadline <= 0 {
		l.Deadline = 2 * time.Second
	}
	if l.Rows <= 0 {
		l.Rows = 10_000
	}
	if l.Bytes <= 0 {
		l.Bytes = 8 << 20
	}
	if l.HeapBytes <= 0 {
		l.HeapBytes = 32_000_000
	}
	return l
}

// Answer is the result of typed SQL. A value is nil, int64, float64, string or []byte.
type Answer struct {
	Columns []string
	Rows    [][]any
	Cut     string // a sentence if rows were left out, else ""
	Elapsed time.Duration
}

// Query runs one statement that a user typed against the database at path. It can only read: the connection
// is read-only, an authorizer refuses all but SELECT and harmless functions, and time, memory, rows and bytes
// are bounded; nothing spills to the disk. SQLite's heap limit holds for the whole process and stays: call it
// from a process that does nothing else, such as `triad results query`. params are the values of parameters,
// :name in the statement: int64, float64 or string.
func Query(ctx context.Context, path, statement string, params map[string]any, l Limits) (*Answer, error) {
	l = l.orDefaults()
	err := oneStatement(statement)
	if err == nil {
		err = bound(statement, params)
	}
	if err != nil {
		return nil, statementf("%v", err)
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, fmt.Errorf("query %s: %w", path, err)
	}
	found, err := inspect(ctx, path, time.Second)
	if err != nil {
		return nil, err
	}
	if !found.exists {
		return nil, fmt.Errorf("query %s: %w: record something first, or give another file with --db", path,
			missing(path))
	}
	return queryUntil(ctx, path, statement, params, l)
}

// overrun is the time that a statement may take to notice its deadline. SQLite checks it between the steps of
// its program, and a call of one function is one step, however long it takes.
const overrun = 250 * time.Millisecond

// queryUntil runs a statement until its deadline. One that does not notice it is abandoned with its
// connection: the asking process has nothing else to do, and ends it by exiting.
func queryUntil(ctx context.Context, path, statement string, params map[string]any,
	l Limits,
) (*Answer, error) {
	db := sql.OpenDB(typedConnector{readDSN(path, time.Second), l})
	db.SetMaxOpenConns(1)
	conn, err := db.Conn(ctx)
	if err != nil {
		db.Close()
		return nil, explain("query", path, err)
	}
	began := time.Now()
	bounded, cancel := context.WithTimeout(ctx, l.Deadline)
	defer cancel()
	var answer *Answer
	ended := make(chan error, 1)
	panics.Go(func() {
		var failed error
		answer, failed = collect(bounded, conn, statement, named(params), l)
		conn.Close()
		db.Close()
		ended <- failed
	}, func(fault error) { ended <- fault })
	select {
	case err = <-ended:
	case <-bounded.Done():
		select {
		case err = <-ended:
		case <-time.After(overrun):
			return nil, refusal(bounded, path, l, bounded.Err())
		}
	}
	if err != nil {
		return nil, refusal(bounded, path, l, err)
	}
	answer.Elapsed = time.Since(began)
	return answer, nil
}

// named returns parameters as database/sql takes them.
func named(params map[string]any) []any {
	var all []any
	for name, value := range params {
		all = append(all, sql.Named(name, value))
	}
	return all
}

// collect runs the statement and collects its rows up to the limits.
func collect(ctx context.Context, conn *sql.Conn, statement string, params []any, l Limits) (*Answer, error) {
	rows, err := conn.QueryContext(ctx, statement, params...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	a := &Answer{}
	if a.Columns, err = rows.Columns(); err != nil {
		return nil, err
	}
	bytes := 0
	for rows.Next() {
		row := make([]any, len(a.Columns))
		targets := make([]any, len(row))
		for i := range row {
			targets[i] = &row[i]
		}
		if err := rows.Scan(targets...); err != nil {
			return nil, err
		}
		for _, v := range row {
			bytes += weight(v)
		}
		if bytes > l.Bytes {
			a.Cut = fmt.Sprintf("cut after %d rows: a result may have %d bytes; select fewer columns, or "+
				"aggregate", len(a.Rows), l.Bytes)
			return a, nil
		}
		if len(a.Rows) == l.Rows {
			a.Cut = fmt.Sprintf("cut after %d rows: there are more; add a WHERE or a LIMIT, aggregate, "+
				"or ask for more with --rows",
				l.Rows)
			return a, nil
		}
		a.Rows = append(a.Rows, row)
	}
	return a, rows.Err()
}

// weight estimates the memory of a value in bytes.
func weight(v any) int {
	switch v := v.(type) {
	case string:
		return len(v) + 16
	case []byte:
		return len(v) + 24
	}
	return 16
}

// refusal returns what stopped a statement, in our words.
func refusal(ctx context.Context, path string, l Limits, err error) error {
	var code sqlite3.Error
	if ctx.Err() != nil {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return statementf("stopped after %v: filter by an indexed column (run_id, case_key, "+
				"session_ulid), aggregate less, or give it longer with --deadline", l.Deadline)
		}
		return fmt.Errorf("query: %w", ctx.Err())
	}
	if !errors.As(err, &code) {
		return fmt.Errorf("query: %w", err)
	}
	switch code.Code {
	case sqlite3.ErrAuth:
		return statementf("only reading is allowed: SELECT, WITH ... SELECT, VALUES, EXPLAIN (%s)",
			code.Error())
	case sqlite3.ErrNomem:
		return statementf("stopped: it needs more than %d MB of memory; sort, group or gather fewer rows",
			l.HeapBytes/1_000_000)
	case sqlite3.ErrTooBig:
		return statementf("stopped: a value or the statement is too long")
	case sqlite3.ErrCorrupt, sqlite3.ErrNotADB, sqlite3.ErrBusy, sqlite3.ErrCantOpen:
		return explain("query", path, err)
	}
	text := code.Error()
	switch {
	case strings.HasPrefix(text, "no such table: "):
		text += ": want one of " + strings.Join(names(ctx), ", ") +
			"; triad results query --schema lists their columns"
	case strings.HasPrefix(text, "no such column: "):
		text += ": triad results query --schema lists the columns"
	}
	return statementf("%s", text)
}

// names returns the views and the tables; none if they cannot be read.
func names(ctx context.Context) []string {
	tables, _ := Schema(context.WithoutCancel(ctx))
	all := make([]string, len(tables))
	for i, t := range tables {
		all[i] = t.Name
	}
	return all
}

// typedConnector makes connections for typed SQL.
type typedConnector struct {
	dsn    string
	limits Limits
}

// Driver returns the driver without the hook; database/sql asks for it.
func (c typedConnector) Driver() driver.Driver { return &sqlite3.SQLiteDriver{} }

// Connect opens a connection and restricts it; the authorizer comes last, because it would refuse the
// settings before it.
func (c typedConnector) Connect(context.Context) (driver.Conn, error) {
	d := sqlite3.SQLiteDriver{ConnectHook: func(conn *sqlite3.SQLiteConn) error {
		if err := registerFunctions(conn); err != nil {
			return err
		}
		settings := fmt.Sprintf("PRAGMA hard_heap_limit=%d; PRAGMA temp_store=2; PRAGMA trusted_schema=0; "+
			"PRAGMA cell_size_check=1; PRAGMA mmap_size=0; "+
			"PRAGMA query_only=1; PRAGMA cache_size=-4000; PRAGMA threads=0", c.limits.HeapBytes)
		if _, err := conn.Exec(settings, nil); err != nil {
			return err
		}
		for id, most := range map[int]int{
			sqlite3.SQLITE_LIMIT_LENGTH: 10_000_000, sqlite3.SQLITE_LIMIT_SQL_LENGTH: longestStatement,
			sqlite3.SQLITE_LIMIT_COLUMN:     200,
			sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 100, sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 50,
			sqlite3.SQLITE_LIMIT_VDBE_OP:  100_000,
			sqlite3.SQLITE_LIMIT_ATTACHED: 0, sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 1000,
			sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER: 100,
			sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH:   10, sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
			sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 100,
		} {
			conn.SetLimit(id, most)
		}
		conn.RegisterAuthorizer(authorize)
		return nil
	}}
	return d.Open(c.dsn)
}

// sqliteRecursive is SQLITE_RECURSIVE, which the driver does not export.
const sqliteRecursive = 33

// authorize allows reading and functions, and denies everything that is not named here.
func authorize(action int, first, second, _ string) int {
	switch action {
	case sqlite3.SQLITE_SELECT, sqliteRecursive:
		return sqlite3.SQLITE_OK
	case sqlite3.SQLITE_READ:
		if strings.HasPrefix(strings.ToLower(first), "pragma_") {
			return sqlite3.SQLITE_DENY
		}
		return sqlite3.SQLITE_OK
	case sqlite3.SQLITE_FUNCTION:
		switch strings.ToLower(second) {
		case "load_extension", "fts3_tokenizer", "readfile", "writefile", "edit":
			return sqlite3.SQLITE_DENY
		}
		return sqlite3.SQLITE_OK
	}
	return sqlite3.SQLITE_DENY
}
