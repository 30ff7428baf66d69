// Package native is what Python sees of triad's Go: one flat package that gopy binds. It holds words and
// numbers alone: specs, cases, codecs, statistics, tables. Whatever runs a kernel or opens a database is the
// triad binary's, which Python starts as a process.
//
// Arguments and results are numbers, text and addresses; structured ones are JSON. A panic that reached
// Python would abort the interpreter, so every exported function recovers and returns an error. Its text
// begins with its kind: "usage: " for errors that the caller can correct, "internal: " for our own faults.
package native
