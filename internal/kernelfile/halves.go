package kernelfile

import "regexp"

// roundsUp matches what adds a half before it cuts off, and CUDA's round. Python's and torch's are others.
var roundsUp = regexp.MustCompile(
	`\b(?:floor|trunc)\([^\n]*\+\s*(?:float\()?0?\.5\b|\blibdevice\.round\(`)

// otherHalves returns the doubt about a file that does not round halves to even, as the operator does.
func (b *Binding) otherHalves() string {
	if !b.away || len(b.Spec.Own.Halves) == 0 {
		return ""
	}
	return b.Spec.Name + " rounds halves to even, and its lines round them away from zero, or up: if that " +
		"is meant so, say --distribution normal, where there are none"
}
