// Package extents finds what the lines of a user's file show of lengths: the rows of a pointer, constants
// that are sizes, the rank and the order of the sizes of a tensor.
package extents
