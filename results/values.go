package results

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"time"

	"github.com/mattn/go-sqlite3"
	"github.com/oklog/ulid/v2"

	"triad/internal/record"
)

// longestValue is the maximum bytes of a value, or a row, of a database: triad writes nothing close to it,
// but a foreign database may have more.
const longestValue = 64 << 20

// boundedDriver is SQLite for connections that read or write no value beyond longestValue.
const boundedDriver = "sqlite3 with bounded values"

func init() {
	sql.Register(boundedDriver, &sqlite3.SQLiteDriver{ConnectHook: func(conn *sqlite3.SQLiteConn) error {
		conn.SetLimit(sqlite3.SQLITE_LIMIT_LENGTH, longestValue)
		return nil
	}})
}

// aheadOfClock is the time that the clock of another machine may be ahead.
const aheadOfClock = 24 * time.Hour

// newestID returns the largest ID that a row may have at a time. IDs rise, and one from the far future would
// leave none for later records.
func newestID(now time.Time) string {
	id := ulid.ULID{}
	_ = id.SetTime(min(ulid.Timestamp(now.Add(aheadOfClock)), ulid.MaxTime())) // a time that it can hold
	for i := 6; i < len(id); i++ {
		id[i] = 0xff
	}
	return id.String()
}

// checkValues refuses a copy of a database with values that triad does not write and that a merge would keep
// for good: IDs and times that are invalid or later than tomorrow, seeds that are no numbers, cases whose key
// does not match their sizes.
func checkValues(ctx context.Context, copied, from string, now time.Time) error {
	db, err := sql.Open(boundedDriver, readDSN(copied, time.Second))
	if err != nil {
		return explain("merge", from, err)
	}
	defer db.Close()
	refuse := func(format string, a ...any) error {
		return fmt.Errorf("merge %s: %w: %s; nothing was merged", from, ErrForeign, fmt.Sprintf(format, a...))
	}
	newest := newestID(now)
	for _, c := range []struct{ table, column string }{{"session", "session_ulid"}, {"run", "run_ulid"}} {
		err := eachText(ctx, db, c.table, c.column, func(text string) error {
			id, err := ulid.ParseStrict(text)
			if err != nil || id.String() != text {
				return refuse("%s.%s is %.40q, which is no ULID", c.table, c.column, text)
			}
			if text > newest {
				return refuse("%s.%s is %s, of %s, which is later than tomorrow", c.table, c.column, text,
					ulid.Time(id.Time()).UTC().Format(time.DateTime))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, c := range []struct{ table, column string }{
		{"session", "started_utc"},
		{"session", "ended_utc"},
		{"run", "started_utc"},
		{"run", "recorded_utc"},
	} {
		err := eachText(ctx, db, c.table, c.column, func(text string) error {
			read, err := time.Parse(record.TimeFormat, text)
			if err != nil {
				return refuse("%s.%s is %.40q: want a time", c.table, c.column, text)
			}
			if read.After(now.Add(aheadOfClock)) {
				return refuse("%s.%s is %s, which is later than tomorrow", c.table, c.column, text)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, table := range []string{"session", "plan", "run"} {
		err := eachText(ctx, db, table, "seed", func(text string) error {
			if _, err := strconv.ParseUint(text, 10, 64); err != nil {
				return refuse("%s.seed is %.40q: want a number", table, text)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return checkCases(ctx, db, from, refuse)
}

// checkCases refuses cases that cannot be read, that have a negative size, or that do not match their keys.
func checkCases(ctx context.Context, db *sql.DB, from string, refuse func(string, ...any) error) error {
	rows, err := db.QueryContext(ctx, "SELECT c.case_key, "+caseColumns+" FROM test_case c")
	if err != nil {
		return explain("merge", from, err)
	}
	defer rows.Close()
	for rows.Next() {
		var key string
		var c caseRow
		if err := rows.Scan(append([]any{&key}, c.targets()...)...); err != nil {
			return explain("merge", from, err)
		}
		found, _, err := c.read()
		if err != nil {
			return refuse("%.200v", err)
		}
		for _, d := range found.Dims {
			if d.Value < 0 {
				return refuse("a case of %.40q has %d %.40q", found.Op, d.Value, d.Name)
			}
		}
		if found.Key() != key {
			return refuse("the case %.80q of %.40q has other sizes or attributes than its key says", key,
				found.Op)
		}
	}
	return explain("merge", from, rows.Err())
}

// eachText calls a function with each distinct text of a column.
func eachText(ctx context.Context, db *sql.DB, table, column string, each func(string) error) error {
	rows, err := db.QueryContext(ctx, fmt.Sprintf("SELECT DISTINCT %s FROM %s WHERE %[1]s IS NOT NULL",
		column, table))
	if err != nil {
		return fmt.Errorf("read %s.%s: %w", table, column, err)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return fmt.Errorf("read %s.%s: %w", table, column, err)
		}
		if err := each(text); err != nil {
			return err
		}
	}
	return rows.Err()
}
