// Package truthtest is what the tests of operators share: inputs, emulated fp32 arithmetic, right and wrong
// answers, relations that are followed, the score of mutants, and the cost of a truth beside a plain
// evaluation.
package truthtest
