// Package stats turns samples of time into conclusions: a median with its interval, a ratio with its verdict,
// a share of the device's peak rate. It touches no process, file or clock, and the same samples always give
// the same verdicts.
package stats
