package planted

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"triad/internal/op"
	"triad/internal/truth/formula"
)

// Bug is a formula with one mistake.
type Bug struct {
	Name    string
	Formula *formula.Node
	// Right returns why an output of a dtype cannot show the bug; "" where it can.
	Right func(d op.DType) string
}

// TermBugs lists the possible bugs of a formula whose result stays in fp32, as a term of a sum does. An input
// alone has none.
func TermBugs(n *formula.Node) []Bug {
	if len(n.Operands) == 0 {
		return nil
	}
	list := Bugs(n)
	for i := range list {
		list[i].Name, list[i].Right = "term: "+list[i].Name, nil
	}
	return list
}

// Bugs lists the possible bugs of a formula: a constant, a missing term or factor, a sign, an intermediate or
// the result in 16 bits.
func Bugs(n *formula.Node) []Bug {
	var list []Bug
	seen := map[string]bool{n.String(): true}
	add := func(name string, wrong *formula.Node) {
		if !seen[wrong.String()] {
			seen[wrong.String()] = true
			list = append(list, Bug{Name: name, Formula: wrong})
		}
	}
	for _, m := range formula.Operations(n) {
		for _, c := range changes(m) {
			add(c.name, replaced(n, m, c.by))
		}
	}
	for _, m := range formula.Operations(n) {
		if !slices.Contains(n.Results(), m) && len(m.Operands) > 0 && m.Kind != formula.Neg &&
			m.Kind != formula.Stored &&
			!m.Shifts() {
			add(fmt.Sprintf("%v in 16 bits", m), replaced(n, m, m.Stored()))
		}
	}
	if low := lowered(n); low.String() != n.Stored().String() {
		add("every intermediate in 16 bits", low)
	}
	return append(list, Bug{"the result in 16 bits", n.Stored(), func(d op.DType) string {
		if d == op.FP32 {
			return ""
		}
		return "the result is stored in 16 bits anyway"
	}})
}

// change is a node that replaces another.
type change struct {
	name string
	by   *formula.Node
}

// changes lists the mistaken replacements of a node.
func changes(m *formula.Node) []change {
	switch m.Kind {
	case formula.Constant:
		return []change{{
			fmt.Sprintf("the constant %v is %v", m, formula.C(mistaken(m.Value))),
			formula.C(mistaken(m.Value)),
		}}
	case formula.Neg:
		return []change{{fmt.Sprintf("%v without its sign", m), m.Operands[0]}}
	case formula.Add:
		x, y := m.Operands[0], m.Operands[1]
		return []change{
			{fmt.Sprintf("%v without %v", m, x), y},
			{fmt.Sprintf("%v without %v", m, y), x},
			{fmt.Sprintf("%v, subtracted", m), x.Minus(y)},
		}
	case formula.Sub:
		x, y := m.Operands[0], m.Operands[1]
		return []change{{fmt.Sprintf("%v without %v", m, x), y.Neg()}, {
			fmt.Sprintf("%v without %v", m, y),
			x,
		}, {fmt.Sprintf("%v, added", m), x.Plus(y)}}
	case formula.Mul:
		x, y := m.Operands[0], m.Operands[1]
		return []change{
			{fmt.Sprintf("%v without the factor %v", m, x), y},
			{fmt.Sprintf("%v without the factor %v", m, y), x},
		}
	case formula.Div:
		x, y := m.Operands[0], m.Operands[1]
		return []change{
			{fmt.Sprintf("%v without %v", m, x), formula.C(1).Over(y)},
			{fmt.Sprintf("%v not divided", m), x},
		}
	case formula.Above, formula.AtMost:
		then, otherwise := m.Operands[2], m.Operands[3]
		return []change{
			{fmt.Sprintf("%v throughout in place of %v", then, m), then},
			{fmt.Sprintf("%v throughout in place of %v", otherwise, m), otherwise},
			{fmt.Sprintf("%v the other way round", m), with(m,
				[]*formula.Node{m.Operands[0], m.Operands[1], otherwise, then})},
		}
	}
	return nil
}

// mistaken returns a constant as it is mistyped: of two digits where it has more, else off by a hundredth.
func mistaken(c float64) float64 {
	short, err := strconv.ParseFloat(strconv.FormatFloat(c, 'g', 2, 64), 64)
	if err != nil || math.Abs(short-c) < 1e-6*math.Abs(c) {
		return c * 1.01
	}
	return short
}

// replaced returns a formula with one of its nodes replaced by another, wherever it occurs.
func replaced(n, old, by *formula.Node) *formula.Node {
	return rewritten(n, func(m *formula.Node, _ []*formula.Node) *formula.Node {
		if m == old {
			return by
		}
		return nil
	})
}

// lowered returns a formula whose every operation is stored, except those that are exact in 16 bits.
func lowered(n *formula.Node) *formula.Node {
	return rewritten(n, func(m *formula.Node, operands []*formula.Node) *formula.Node {
		if len(operands) == 0 || slices.Contains(n.Results(), m) || m.Kind == formula.Stored || m.Shifts() {
			return nil
		}
		return with(m, operands).Stored()
	})
}

// Replaced returns a formula with an input replaced by another node.
func Replaced(n *formula.Node, input string, by *formula.Node) *formula.Node {
	return rewritten(n, func(m *formula.Node, _ []*formula.Node) *formula.Node {
		if m.Kind == formula.Input && m.Name == input {
			return by
		}
		return nil
	})
}

// rewritten returns a formula in which change replaces nodes; change returns nil to keep one. It gets the
// rewritten operands.
func rewritten(n *formula.Node, change func(m *formula.Node,
	operands []*formula.Node) *formula.Node,
) *formula.Node {
	done := map[*formula.Node]*formula.Node{}
	for _, m := range formula.Operations(n) {
		operands := make([]*formula.Node, len(m.Operands))
		for i, operand := range m.Operands {
			operands[i] = done[operand]
		}
		if by := change(m, operands); by != nil {
			done[m] = by
			continue
		}
		done[m] = with(m, operands)
	}
	return done[n]
}

// with returns a node on other operands.
func with(m *formula.Node, operands []*formula.Node) *formula.Node {
	next := *m
	next.Operands = operands
	return &next
}
