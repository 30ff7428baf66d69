// Package resultdiff finds the changes between two sets of recorded runs: what became wrong or right, and
// what takes longer or less time. Swapping the two inverts every answer.
package resultdiff
