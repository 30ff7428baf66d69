package sass

import (
	"regexp"
	"strconv"
)

// Clocks holds the clocks for which each pipe of one of the four parts of a Hopper SM is busy with one pass
// of a loop by one warp. A part has a fourth of an SM's rates: 1024 fp16 or 2048 fp8 operations a clock on
// tensor cores, 4 lanes a clock of MUFU, 32 of fp32, 16 of integers, one instruction.
type Clocks struct {
	Tensor, Exp, Float, Integer, Issue int
}

var productSize = regexp.MustCompile(`\.?64x(\d+)x\d+`)

// Clocks adds up the work of the pipes. A product of a warpgroup of 64 x N takes N / 2 clocks of each part's
// tensor core, whatever its 16- or 8-bit format; other tensor instructions (mma.sync 16 x 8 x 16) take 4.
func (l Loop) Clocks() Clocks {
	var c Clocks
	for _, in := range l.Instructions {
		c.Issue++
		switch in.Role() {
		case Tensor:
			c.Tensor += productClocks(in.Opcode)
		case Exp:
			c.Exp += 8
		case Float:
			c.Float++
		case Address:
			c.Integer += 2
		}
	}
	return c
}

func productClocks(opcode string) int {
	m := productSize.FindStringSubmatch(opcode)
	if m == nil {
		return 4
	}
	columns, err := strconv.Atoi(m[1])
	if err != nil {
		return 4
	}
	return columns / 2
}

// Bound returns the pipe that is busy longest, and its clocks.
func (c Clocks) Bound() (pipe string, clocks int) {
	for _, p := range []struct {
		name   string
		clocks int
	}{
		{"tensor", c.Tensor},
		{"exp", c.Exp},
		{"float", c.Float},
		{"integer", c.Integer},
		{"issue", c.Issue},
	} {
		if p.clocks > clocks {
			pipe, clocks = p.name, p.clocks
		}
	}
	return pipe, clocks
}
