package results

import (
	"database/sql"
	"encoding/json"
	"fmt"

	"triad/internal/record"
)

// insertRelations writes the results of the relations of one output.
func insertRelations(tx *sql.Tx, run int64, output string, relations []record.Relation) error {
	for position, r := range relations {
		args := []any{run, output, position, r.Name, r.Holds, r.N, r.NCompared, r.NWrong, r.Message}
		worst := make([]any, 7)
		if r.Worst != nil {
			worst = []any{indexText(r.Worst.Index)}
			for _, f := range []record.Float{r.Worst.Got, r.Worst.Low, r.Worst.High} {
				value, class := number(&f)
				worst = append(worst, value, class)
			}
		}
		if _, err := tx.Exec(`INSERT INTO relation (run_id, output, position, name, holds, n, n_compared,
			n_wrong, message, worst_index_json, got, got_class,
			low, low_class, high, high_class) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			append(args, worst...)...); err != nil {
			return fmt.Errorf("relation %q of %s: %w", r.Name, output, err)
		}
	}
	return nil
}

// loadRelations reads the relations of a run by output, in their order.
func loadRelations(q querier, run int64) (map[string][]record.Relation, error) {
	rows, err := q.Query(`SELECT output, name, holds, n, n_compared, n_wrong, message, worst_index_json, got,
		got_class, low, low_class, high, high_class
		FROM relation WHERE run_id = ? ORDER BY output, position`, run)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := map[string][]record.Relation{}
	for rows.Next() {
		var output string
		var r record.Relation
		var index sql.NullString
		var n [3]numberColumns
		targets := []any{&output, &r.Name, &r.Holds, &r.N, &r.NCompared, &r.NWrong, &r.Message, &index}
		for i := range n {
			targets = append(targets, &n[i].value, &n[i].class)
		}
		if err := rows.Scan(targets...); err != nil {
			return nil, err
		}
		if index.Valid {
			r.Worst = &record.Broken{Got: n[0].orZero(), Low: n[1].orZero(), High: n[2].orZero()}
			if err := json.Unmarshal([]byte(index.String), &r.Worst.Index); err != nil {
				return nil, err
			}
		}
		found[output] = append(found[output], r)
	}
	return found, rows.Err()
}
