// Package stats turns samples of time into what may be said about them: a median with its interval, a ratio
// with its word, a share of what the device can do at best. It touches no process, file or clock, and the
// same samples always give the same words.
package stats
