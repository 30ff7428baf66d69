// Package params matches the parameters of a function to the tensors, sizes and attributes of an operator.
// Match is the whole of it; words.go reads and writes the words of --map.
package params
