// Package ownfile decides how a user's kernel file, .cu or .py, is called as an operator. It is pure: text
// goes in, text comes out. It opens no file and starts no process.
//
// A file takes this path. ParseRequest reads --add, and Read lists the functions of the file from the facts
// of its text (cfacts, pyfacts). Bind (choose.go) chooses the functions to judge. A line above a function
// fixes what it says (declared). params matches each parameter to a tensor, a size or an attribute, by its
// name and type; extents adds what the lines show of lengths, adapters what lies otherwise than the operator
// has it, and launches the grid and the block of a lone kernel. The result is a binding.Binding. shim writes
// the CUDA or Python code that calls the function, and the numbers that go with each call. What the file left
// open is the binding's Assumptions, and Alternatives are the other ways to read it. Settle decides from
// trials of these whether another one is taken, and whether a wrong answer is the file's or NOT_UNDERSTOOD.
// Declaration is the line that fixes the result.
package ownfile
