// Package own understands a kernel file that a user wrote for nobody in particular: it finds the function to judge, reads its signature,
// matches every parameter to a tensor, size or attribute of an operator, and writes the lines of CUDA or Python that call it. Text goes in,
// text comes out: no file is touched and nothing is run.
package own
