// Package record describes the outcome of a run as plain data: the rows that the store keeps, the report
// prints and `compare --json` writes. It knows their JSON (docs/json.md) and nothing else: no process, file,
// clock or database.
package record
