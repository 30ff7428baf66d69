// Package run defines the order of a run, and is the only package that does: expand operators into cases,
// make inputs, compute the truth, run every implementation, judge, record, compare the implementations with
// each other.
package run
