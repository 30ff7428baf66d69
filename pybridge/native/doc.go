// Package native is the part of triad's Go that Python sees: one flat package that gopy binds. It deals only
// with text and numbers: specs, cases, codecs, statistics, tables. Running kernels and opening databases is
// left to the triad binary, which Python starts as a process.
//
// Arguments and results are numbers, text and addresses; structured ones are JSON. A panic that reached
// Python would abort the interpreter, so every exported function recovers and returns an error. Its text
// begins with its kind: "usage: " for errors that the caller can correct, "internal: " for our own faults.
package native
