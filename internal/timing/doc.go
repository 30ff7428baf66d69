// Package timing times calls on a GPU and says which is slower. It knows calls, rounds and times: what is
// right is asked of a function that the caller gives, and which implementations there are is the caller's
// too. Only one call runs at a time, and all calls of a case take turns (ABBA), so that a drift of the card
// meets all alike.
//
// To find: what is asked for is in plan.go, how long a turn takes in protocol.go, when the rounds of a case
// end in rounds.go, when a time is UNSTABLE or IMPOSSIBLE in status.go, who is compared with whom
// in compare_to_fastest.go, and SLOWER, FASTER and SAME in slower_faster_same.go of package stats.
package timing
