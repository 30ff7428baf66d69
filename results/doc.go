// Package results keeps every result in one SQLite database that any SQL client can read. A result is one
// transaction, synced to the disk before it is acknowledged: a process killed at any instant loses nothing
// that was acknowledged.
//
// It does not guess about a file: a database that is not ours, is damaged, or is newer than this program is
// left unchanged and reported. It judges nothing and prints nothing; the meaning of a row is decided before
// it comes here. SQL that a user typed runs through Query, on a connection that can only read, with bounds on
// time, memory and output.
package results
