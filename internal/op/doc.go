// Package op describes operators: the Spec, the Cases it expands to, dtypes, contracts and statuses. It is
// the vocabulary of every other package and imports none of them.
package op
