// Package record says what became of a run, as plain data: the rows that the store keeps, the report prints
// and `compare --json` writes. It knows how these are written as JSON (docs/json.md) and nothing else: no
// process, file, clock or database.
package record
