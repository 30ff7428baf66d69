package report

import (
	"fmt"

	"triad/internal/record"
)

// Row returns one row of the result of an SQL query as a JSON object in the order of its columns. Numbers
// stay numbers, NULL is null, bytes are hexadecimal text; a repeated name gets its position.
func Row(columns []string, values []any) record.Members[any] {
	seen := map[string]bool{}
	row := make(record.Members[any], len(columns))
	for i, name := range columns {
		if seen[name] {
			name = fmt.Sprintf("%s:%d", name, i+1)
		}
		seen[name] = true
		row[i] = record.Member[any]{Name: name, Value: values[i]}
		switch v := values[i].(type) {
		case []byte:
			row[i].Value = Cell(v)
		case float64:
			row[i].Value = record.Float(v)
		}
	}
	return row
}
