// Package launches finds the grid, the block and the shared memory of a lone __global__ function: as flags
// say it, as a main() launched it, else as its own lines need it.
package launches
