// Package truthtest provides what the tests of operators share: inputs, emulated fp32 arithmetic, right and
// wrong answers, relations that are followed, the score of mutants, and the cost of a truth relative to a
// plain evaluation.
package truthtest
