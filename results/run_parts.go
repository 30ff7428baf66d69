package results

import "strings"

// partsChunk is the number of runs per query: its text stays the same, so that it is prepared once.
const partsChunk = 256

// withParts returns which of some runs have rows in a table, relation or timing: most have none, and a query
// for each of thousands of runs takes longer than all else on a page.
func withParts(q querier, table string, runs []int64) (map[int64]bool, error) {
	has := map[int64]bool{}
	question := "SELECT DISTINCT run_id FROM " + table + " WHERE run_id IN (?" +
		strings.Repeat(", ?", partsChunk-1) + ")"
	for from := 0; from < len(runs); from += partsChunk {
		asked := make([]any, partsChunk)
		for i := range asked { // the last chunk asks for its last run several times
			asked[i] = runs[min(from+i, len(runs)-1)]
		}
		if err := addRuns(q, question, asked, has); err != nil {
			return nil, err
		}
	}
	return has, nil
}

func addRuns(q querier, question string, asked []any, to map[int64]bool) error {
	rows, err := q.Query(question, asked...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var run int64
		if err := rows.Scan(&run); err != nil {
			return err
		}
		to[run] = true
	}
	return rows.Err()
}
