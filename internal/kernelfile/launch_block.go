package kernelfile

import (
	"slices"
	"strconv"
	"strings"
)

// constant returns the value of a constant that the kernel itself defines, "const int lanes = 32;"; false
// where it has none of that name with a value of one word.
func (k body) constant(name string) (string, bool) {
	for i := 0; i+2 < len(k.tokens); i++ {
		t := k.tokens
		if t[i].Text != "const" && t[i].Text != "constexpr" {
			continue
		}
		for j := i + 1; j+3 < len(t) && t[j].Text != ";"; j++ {
			if t[j].Text == name && t[j+1].Text == "=" && t[j+3].Text == ";" {
				return t[j+2].Text, true
			}
		}
	}
	return "", false
}

// rowsAtOnce returns the number of rows of a square tile that a block has threads for: the step of a loop
// over the tile, as in tile[threadIdx.y + j] with j += BLOCK_ROWS, else all.
func (k body) rowsAtOnce(side int) int {
	for i := 0; i+4 < len(k.tokens); i++ {
		if k.tokens[i].Text != "threadIdx" || k.tokens[i+2].Text != "y" || k.tokens[i+3].Text != "+" {
			continue
		}
		step := k.tokens[i+4].Text
		for j := 0; j+2 < len(k.tokens); j++ {
			if k.tokens[j].Text != step || k.tokens[j+1].Text != "+=" {
				continue
			}
			if n, ok := k.number(k.tokens[j+2].Text); ok && n > 0 && side%n == 0 {
				return n
			}
		}
	}
	return side
}

// block proposes a block: the kernel's __launch_bounds__, the sides of its shared tiles, or a constant named
// after it. said is false if the kernel depends on its block and gives none of these.
func (k body) block() (sizes [3]string, said bool) {
	of := func(x, y, z int) [3]string {
		return [3]string{strconv.Itoa(x), strconv.Itoa(y), strconv.Itoa(z)}
	}
	second, third := k.uses(k.tokens, "threadIdx", "y"), k.uses(k.tokens, "threadIdx", "z")
	any := k.uses(k.tokens, "blockDim", "x") && (!second || k.uses(k.tokens, "blockDim", "y")) ||
		!second && k.firstThreadAlone()
	if third {
		return of(8, 8, 8), any
	}
	if n, ok := k.number(k.b.Function.LaunchBounds); ok && !second {
		return of(n, 1, 1), true
	}
	if sides := k.tile(); len(sides) > 0 {
		switch {
		case second && len(sides) == 2 && sides[0]*sides[0] <= maxThreads:
			return of(sides[0], k.rowsAtOnce(sides[0]), 1), true
		case !second && len(sides) == 1 && sides[0] >= 64 && sides[0] <= maxThreads:
			return of(sides[0], 1, 1), true
		}
	}
	if n := k.blockConstant(); n > 0 {
		if second && n*n <= maxThreads {
			return of(n, n, 1), true
		} else if !second && n <= maxThreads {
			return of(n, 1, 1), true
		}
	}
	if second {
		return of(16, 16, 1), any
	}
	place := k.asksGroup("thread_rank", "meta_group_rank")
	switch size := k.asksGroup("meta_group_size", "num_threads", "size"); {
	case place && size: // any block of whole warps will do
		return of(blockThreads, 1, 1), true
	case place:
		return of(blockThreads, 1, 1), k.uses(k.tokens, "blockDim", "x")
	case !k.uses(k.tokens, "threadIdx", "x"):
		return of(1, 1, 1), true
	}
	return of(blockThreads, 1, 1), any
}

// asksGroup reports whether a kernel calls one of these methods of an object, as it asks a cooperative group
// for its size or its thread's rank: group.size().
func (k body) asksGroup(names ...string) bool {
	for i := 1; i+1 < len(k.tokens); i++ {
		if slices.Contains(names, k.tokens[i].Text) && k.tokens[i+1].Text == "(" &&
			(k.tokens[i-1].Text == "." || k.tokens[i-1].Text == "->") {
			return true
		}
	}
	return false
}

// tile returns the sides of the first shared array whose sides are numbers.
func (k body) tile() []int {
	for i, t := range k.tokens {
		if t.Text != "__shared__" || i > 0 && k.tokens[i-1].Text == "extern" {
			continue
		}
		var sides []int
		for j := i; j+2 < len(k.tokens) && k.tokens[j].Text != ";"; j++ {
			if k.tokens[j].Text == "[" {
				n, ok := k.number(k.tokens[j+1].Text)
				if !ok {
					return nil
				}
				sides = append(sides, n)
			}
		}
		if len(sides) > 0 {
			return sides
		}
	}
	return nil
}

// firstThreadAlone reports whether threadIdx.x is only compared to 0: "if (threadIdx.x) return;".
func (k body) firstThreadAlone() bool {
	for i := 0; i+3 < len(k.tokens); i++ {
		if k.tokens[i].Text == "threadIdx" && k.tokens[i+2].Text == "x" &&
			!slices.Contains([]string{")", "==", "!="}, k.tokens[i+3].Text) {
			return false
		}
	}
	return true
}

// blockConstant returns the value of a constant that the kernel uses and that is named after a block of
// threads; 0 if there is none.
func (k body) blockConstant() int {
	for _, t := range k.tokens {
		name := strings.ToLower(t.Text)
		for _, word := range []string{"block", "threads", "tpb", "tile", "bdim"} {
			if n, ok := k.number(t.Text); ok && t.IsName() && strings.Contains(name, word) && n > 0 {
				return n
			}
		}
	}
	return 0
}
