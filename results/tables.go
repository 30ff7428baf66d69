package results

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Table is a view or a table of the database, as SQL sees it.
type Table struct {
	Name    string
	View    bool
	Holds   string // in words; "" if the name says it
	Columns []string
}

// holds describes what the names do not say.
var holds = map[string]string{
	"latest":  "the newest run of each implementation on each case and device",
	"history": "every run that ended, newest last by run_ulid",
	"disagreements": "latest runs that end bad, and pairs of good ones of which one alone gives NaN or an " +
		"infinity",
	"speed":      "the newest timing of each implementation on each case, on a GPU",
	"session":    "one command",
	"plan":       "what a session is to run",
	"run":        "one implementation on one case",
	"newest":     "which run latest shows of each implementation on each case and device",
	"test_case":  "what is computed, on which sizes, from which kind of data",
	"verdict":    "what the judge says of one output of a run",
	"relation":   "what must hold of an output whatever the inputs are, and whether it does",
	"difference": "how far two implementations lie apart",
	"timing":     "how long the calls of a run took",
	"comparison": "two implementations timed in interleaved rounds",
	"ruler":      "what the device did at best in a session",
	"status":     "what each status counts as",
}

// Schema lists the tables and views of a database of this program, views first. It needs no database.
func Schema(ctx context.Context) ([]Table, error) {
	steps, err := migrations(schemaFiles)
	if err != nil {
		return nil, err
	}
	db, err := emptyDatabase(ctx, steps)
	if err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	defer db.Close()
	rows, err := db.QueryContext(ctx,
		"SELECT s.name, s.type = 'view', c.name FROM sqlite_schema s JOIN pragma_table_info(s.name) c "+
			"WHERE s.type IN ('view', 'table') AND s.name NOT LIKE 'sqlite_%' ORDER BY s.type = 'table', "+
			"s.rowid, c.cid")
	if err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	defer rows.Close()
	var all []Table
	for rows.Next() {
		var t Table
		var column string
		if err := rows.Scan(&t.Name, &t.View, &column); err != nil {
			return nil, fmt.Errorf("read the schema: %w", err)
		}
		if len(all) == 0 || all[len(all)-1].Name != t.Name {
			t.Holds = holds[t.Name]
			all = append(all, t)
		}
		last := &all[len(all)-1]
		last.Columns = append(last.Columns, column)
	}
	order := []string{"latest", "history", "disagreements", "speed"} // as often as they are asked for
	slices.SortStableFunc(all, func(a, b Table) int { return place(order, a.Name) - place(order, b.Name) })
	return all, rows.Err()
}

// emptyDatabase returns a database in memory that has the tables of these steps and no rows.
func emptyDatabase(ctx context.Context, steps []migration) (*sql.DB, error) {
	db, err := sql.Open("sqlite3", ":memory:")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // each connection has a memory of its own
	if err := migrate(ctx, db, steps, nil); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// place returns the index of a name, or the length if it is missing.
func place(order []string, name string) int {
	if i := slices.Index(order, name); i >= 0 {
		return i
	}
	return len(order)
}

// Units explains how the name of a column gives its unit.
const Units = `Units stand in the names: _ns nanoseconds, _bytes, _mhz, _w watts, _c degrees Celsius;
_utc is UTC text, _json JSON, *_ulid an ID. ulp_max and ulp_mean are units in the last place, headroom a
ratio. A number that may be NaN or infinite has a column *_class beside it (nan, inf, -inf, finite).`

// Describe returns the schema as text for a person.
func Describe(tables []Table) string {
	var text strings.Builder
	for _, t := range tables {
		kind := "table"
		if t.View {
			kind = "view"
		}
		fmt.Fprintf(&text, "%s (%s)", t.Name, kind)
		if t.Holds != "" {
			text.WriteString(": " + t.Holds)
		}
		line := "\n   "
		for i, c := range t.Columns {
			if len(line)+len(c) > 96 {
				text.WriteString(line)
				line = "\n   "
			}
			line += " " + c
			if i < len(t.Columns)-1 {
				line += ","
			}
		}
		text.WriteString(line + "\n\n")
	}
	return text.String() + Units + "\n"
}
