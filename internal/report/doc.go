// Package report formats records for people and programs: tables for a terminal or a pipe, JSON lines, CSV,
// Markdown. It is pure: it decides nothing, asks nobody and writes to a given io.Writer. A number is shown as
// it was judged, and no time of the harness is ever shown as a kernel's.
package report
