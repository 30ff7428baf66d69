// Package report turns records into what a person or a program reads: tables for a terminal or a pipe, JSON
// lines, CSV, Markdown. It is pure: it decides nothing, asks nobody and writes to the io.Writer that it is
// given. A number is shown as it was judged, and no time of the harness is ever shown as a kernel's.
package report
