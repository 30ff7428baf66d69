// Package timing times calls on a GPU and decides which is slower. It knows calls, rounds and times: the
// caller provides the implementations, and a function that judges results. Only one call runs at a time, and
// all calls of a case take turns (ABBA), so that a drift of the card meets all alike.
//
// Where to look: the plan in plan.go, the length of a measurement in protocol.go, the end of the rounds of a
// case in rounds.go, UNSTABLE and IMPOSSIBLE in status.go, which implementations are compared in
// compare_to_fastest.go, and SLOWER, FASTER and SAME in slower_faster_same.go of package stats.
package timing
