// Package cfacts reads CUDA text into facts: tokens, conditions, definitions with their signatures, literals,
// launches, calls, and what a function writes. ReadCUDA needs the text alone, and knows no operator. A Python
// file has the same File, Function and Param; its facts come from pyfacts.
package cfacts
