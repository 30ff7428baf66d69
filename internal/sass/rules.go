package sass

import (
	"regexp"
	"strings"
)

// ExponentialsBehindWait counts the exponentials of a loop between the wait for its first products (all but
// one group) and the wait for all, and those behind the second wait, which no product overlaps. Both are 0
// for a loop that does not wait twice.
func (l Loop) ExponentialsBehindWait() (overlapped, behind int) {
	const none, first, all = 0, 1, 2
	passed := none
	for _, in := range l.Instructions {
		switch {
		case in.Opcode == "WARPGROUP.DEPBAR.LE" && strings.HasSuffix(in.Operands, "0x1"):
			passed = first
		case in.Opcode == "WARPGROUP.DEPBAR.LE" && passed == first:
			passed = all
		case in.Opcode == "MUFU.EX2" && passed == first:
			overlapped++
		case in.Opcode == "MUFU.EX2" && passed == all:
			behind++
		}
	}
	if passed != all {
		return 0, 0
	}
	return overlapped, behind
}

var register = regexp.MustCompile(`R\d+`)

// ProductsAddedApart counts the additions of a loop (FADD) that take the result of a multiplication (FMUL)
// before them in the loop: each could be one FFMA.
func (l Loop) ProductsAddedApart() int {
	made, apart := map[string]bool{}, 0
	for _, in := range l.Instructions {
		operands := register.FindAllString(in.Operands, -1)
		if len(operands) == 0 {
			continue
		}
		switch in.name() {
		case "FMUL":
			made[operands[0]] = true
			continue
		case "FADD":
			for _, source := range operands[1:] {
				if made[source] {
					apart++
					break
				}
			}
		}
		if role := in.Role(); role == Float || role == Exp || role == Address {
			delete(made, operands[0])
		}
	}
	return apart
}
