// Package adapters finds which tensors a function takes otherwise than the operator has them: several in one
// buffer, one of a pair at a time, wider rows, in place, as scratch memory, as integers.
package adapters
