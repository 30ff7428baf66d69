// Package judge decides whether an implementation did what its contract promises. From the truth of a case
// (R, T, the simulated contract), the outputs of the implementation and the plan it makes a Verdict for every
// output. It is pure: it starts no process, reads no file and no clock, and never sees a kernel.
//
// Every comparison is written as accept-iff, so that a NaN anywhere rejects; nothing that was not compared
// passes; no tolerance is set by hand: the accepted interval of an element is [RN(R-T), RN(R+T)], with RN the
// one rounding to the output's dtype and T derived from the contract (internal/truth, and
// internal/catalog/<op>).
//
// The gates, in their order:
//
//	G0  the shape of the answer: what was planned came back, guards and inputs are untouched, every element
//	    was written
//	G1  class: NaN, infinities and overflow are where the truth has them
//	G2  the rounded interval
//	G3  the same with T = 0, where the inputs make every partial sum exact
//	G4  root mean square of the error against that of the simulated contract, as a whole and by blocks
//	G5  bias: a slope of the error along R; only warns
//	G6  relations hold (relation.go)
//	G7  in the place of G1 to G3: what the kernel chose is a choice that the operator permits (choice.go)
package judge
