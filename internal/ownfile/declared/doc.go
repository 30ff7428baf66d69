// Package declared turns a line above a function, "// triad: softmax(x=input)", into options, and a binding
// into such a line.
package declared
