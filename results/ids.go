package results

import (
	"crypto/rand"
	"database/sql"
	"errors"
	"time"

	"github.com/oklog/ulid/v2"
)

// nextID makes an ID for a row of table that sorts after every ID there, also when the clock went backwards:
// the newest run is the one that was recorded last. IDs of a far future are left out. Call it inside the
// transaction that inserts the row.
func nextID(tx *sql.Tx, table, column string, now time.Time) (string, error) {
	var newest sql.NullString
	// what lies after tomorrow, or is no ID, is not of a triad's clock: it must not stop what is recorded now
	if err := tx.QueryRow("SELECT max("+column+") FROM "+table+" WHERE "+column+" <= ?",
		newestID(now)).Scan(&newest); err != nil {
		return "", err
	}
	id, err := ulid.New(ulid.Timestamp(now), rand.Reader)
	if err != nil || !newest.Valid || id.String() > newest.String {
		return id.String(), err
	}
	last, err := ulid.ParseStrict(newest.String)
	if err != nil {
		return id.String(), nil
	}
	return following(last)
}

// following is the ULID after last: its random part one higher, with a carry into its time.
func following(last ulid.ULID) (string, error) {
	for i := len(last) - 1; i >= 0; i-- {
		last[i]++
		if last[i] != 0 {
			return last.String(), nil
		}
	}
	return "", errors.New("the newest ID of the database is the largest there can be")
}
