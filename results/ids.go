package results

import (
	"crypto/rand"
	"database/sql"
	"errors"
	"time"

	"github.com/oklog/ulid/v2"
)

// nextID returns an ID for a new row of table that sorts after every ID there, even if the clock went
// backwards: the newest run is the one that was recorded last. IDs later than any clock of the database can
// have made them are ignored, since the following ones would be as late. Call it inside the transaction that
// inserts the row.
func nextID(tx *sql.Tx, table, column string, now time.Time) (string, error) {
	var newest sql.NullString
	if err := tx.QueryRow("SELECT max(" + column + ") FROM " + table).Scan(&newest); err != nil {
		return "", err
	}
	if newest.String > newestID(now) {
		latest, err := latestTransaction(tx)
		if err != nil {
			return "", err
		}
		if latest.Before(now) {
			latest = now
		}
		if err := tx.QueryRow("SELECT max("+column+") FROM "+table+" WHERE "+column+" <= ?",
			newestID(latest)).Scan(&newest); err != nil {
			return "", err
		}
	}
	id, err := ulid.New(ulid.Timestamp(now), rand.Reader)
	if err != nil || id.String() > newest.String {
		return id.String(), err
	}
	last, err := ulid.ParseStrict(newest.String)
	if err != nil {
		return id.String(), nil
	}
	return following(last)
}

// latestTransaction returns the latest clock time of any record. A session that has an end recorded no run
// after it, so only the runs of the others are read. An invalid time does not count.
func latestTransaction(tx *sql.Tx) (time.Time, error) {
	var seconds sql.NullInt64
	err := tx.QueryRow(`SELECT max(unixepoch(time)) FROM (
		SELECT started_utc AS time FROM session
		UNION ALL SELECT ended_utc FROM session
		UNION ALL SELECT coalesce(recorded_utc, started_utc) FROM run
			WHERE session_id IN (SELECT session_id FROM session WHERE ended_utc IS NULL))`).Scan(&seconds)
	return time.Unix(seconds.Int64, 0), err
}

// following returns the ULID after last: its random part one higher, with a carry into its time.
func following(last ulid.ULID) (string, error) {
	for i := len(last) - 1; i >= 0; i-- {
		last[i]++
		if last[i] != 0 {
			return last.String(), nil
		}
	}
	return "", errors.New("the newest ID of the database is the largest there can be")
}
