// Package run knows the order of a run, and is alone in that: expand operators into cases, make inputs,
// compute the truth, run every implementation, judge, record, compare the implementations with each other.
package run
