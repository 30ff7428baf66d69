// Package formula holds elementwise formulas that are stated once and computed in several arithmetics: in
// fp64 with a running bound of the error of fp32 (Higham 2002, chapter 3) and with the rounding points of a
// contract simulated (bound.go), over complex numbers for the complex step (complex.go), and in emulated fp32
// with planted bugs (package planted). A formula knows no tensor and no operator.
package formula

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Kind is the operation that a node of a formula computes.
type Kind uint8

// The kinds. Input and Constant have no operands, Add to Div have two, Above and AtMost four, the others one.
const (
	Unknown Kind = iota
	Input
	Constant
	Add
	Sub
	Mul
	Div
	Neg
	Exp
	Erf
	Tanh
	Stored // a rounding point: a contract, or a planted bug, stores the value in a dtype of less precision
	Above  // the third operand where the first is more than the second, else the fourth
	AtMost // the third operand where the first is not more than the second, else the fourth
)

var names = [...]string{
	"unknown", "input", "constant", "+", "-", "*", "/", "-", "exp", "erf",
	"tanh", "stored", ">", "<=",
}

// Node is one value of a formula: an input, a constant, or an operation on other nodes. Nodes are never
// changed, so that one node may be an operand of several.
type Node struct {
	Kind     Kind
	Name     string  // of an input
	Value    float64 // of a constant: the number that is meant, which fp32 may have to round
	Operands []*Node
}

// In returns the input called name, exact as the kernel gets it.
func In(name string) *Node { return &Node{Kind: Input, Name: name} }

// C returns a constant.
func C(value float64) *Node { return &Node{Kind: Constant, Value: value} }

func node(k Kind, operands ...*Node) *Node { return &Node{Kind: k, Operands: operands} }

// Plus returns n + m.
func (n *Node) Plus(m *Node) *Node { return node(Add, n, m) }

// Minus returns n - m.
func (n *Node) Minus(m *Node) *Node { return node(Sub, n, m) }

// Times returns n * m.
func (n *Node) Times(m *Node) *Node { return node(Mul, n, m) }

// Over returns n / m.
func (n *Node) Over(m *Node) *Node { return node(Div, n, m) }

// Scaled returns n times a constant, or n itself if that is 1.
func (n *Node) Scaled(by float64) *Node {
	if by == 1 {
		return n
	}
	return n.Times(C(by))
}

// Neg returns -n.
func (n *Node) Neg() *Node { return node(Neg, n) }

// Exp returns e^n.
func (n *Node) Exp() *Node { return node(Exp, n) }

// Erf returns the error function of n.
func (n *Node) Erf() *Node { return node(Erf, n) }

// Tanh returns the hyperbolic tangent of n.
func (n *Node) Tanh() *Node { return node(Tanh, n) }

// Sigmoid returns 1/(1 + e^-n).
func (n *Node) Sigmoid() *Node { return C(1).Over(C(1).Plus(n.Neg().Exp())) }

// Above returns then where n > limit, and otherwise elsewhere, including where one of them is NaN. The
// compared nodes are an input, a constant, or the negative of one: no rounding decides.
func (n *Node) Above(limit, then, otherwise *Node) *Node {
	return node(Above, n, limit, then, otherwise)
}

// AtMost returns then where n <= limit, and otherwise elsewhere, including where one of them is NaN.
func (n *Node) AtMost(limit, then, otherwise *Node) *Node {
	return node(AtMost, n, limit, then, otherwise)
}

// Stored returns n, which may be rounded to the dtype of the case there.
func (n *Node) Stored() *Node { return node(Stored, n) }

// String returns the formula as one writes it, fully parenthesised.
func (n *Node) String() string {
	switch n.Kind {
	case Input:
		return n.Name
	case Constant:
		return strconv.FormatFloat(n.Value, 'g', 8, 64)
	case Add, Sub, Mul, Div:
		return fmt.Sprintf("(%v %s %v)", n.Operands[0], names[n.Kind], n.Operands[1])
	case Neg:
		return fmt.Sprintf("-%v", n.Operands[0])
	case Above, AtMost:
		return fmt.Sprintf("(%v %s %v ? %v : %v)", n.Operands[0], names[n.Kind], n.Operands[1],
			n.Operands[2], n.Operands[3])
	}
	return fmt.Sprintf("%s(%v)", names[min(int(n.Kind), len(names)-1)], n.Operands[0])
}

// Operations lists the nodes of formulas, each once, operands before the nodes that use them.
func Operations(of ...*Node) []*Node {
	var list []*Node
	seen := map[*Node]bool{}
	var visit func(n *Node)
	visit = func(n *Node) {
		if seen[n] {
			return
		}
		seen[n] = true
		for _, operand := range n.Operands {
			visit(operand)
		}
		list = append(list, n)
	}
	for _, n := range of {
		visit(n)
	}
	return list
}

// Check returns an error that says why a formula cannot be computed: a node of an unknown kind or with the
// wrong number of operands, an input without a name or not among the given names, a constant that is not
// finite.
func (n *Node) Check(inputs []string) error {
	for _, m := range Operations(n) {
		want := 1
		switch m.Kind {
		case Input, Constant:
			want = 0
		case Add, Sub, Mul, Div:
			want = 2
		case Above, AtMost:
			want = 4
		}
		switch {
		case m.Kind == Unknown || m.Kind > AtMost || len(m.Operands) != want:
			return fmt.Errorf("check formula %v: node of kind %d with %d operands: want a known kind with %d",
				n, m.Kind, len(m.Operands), want)
		case m.Kind == Input && !slices.Contains(inputs, m.Name):
			return fmt.Errorf("check formula %v: input %q: want one of %v", n, m.Name, inputs)
		case m.Kind == Constant && !(math.Abs(m.Value) <= math.MaxFloat32):
			return fmt.Errorf("check formula %v: constant %v: want a number that fp32 has", n, m.Value)
		case m.Chooses() && !(m.Operands[0].exact() && m.Operands[1].exact()):
			return fmt.Errorf("check formula %v: %v compares %v with %v: want inputs and constants of fp32",
				n, m, m.Operands[0], m.Operands[1])
		}
	}
	return nil
}

// Chooses reports whether a node is one of two others, as a comparison decides.
func (n *Node) Chooses() bool { return n.Kind == Above || n.Kind == AtMost }

// Chosen returns the index of the operand whose value a choosing node takes, where x and y are compared.
func (n *Node) Chosen(x, y float64) int {
	if n.Kind == Above && x > y || n.Kind == AtMost && x <= y {
		return 2
	}
	return 3
}

// Results returns the nodes whose value a formula may have unchanged: itself, and those it chooses from.
func (n *Node) Results() []*Node {
	if !n.Chooses() {
		return []*Node{n}
	}
	return append(append([]*Node{n}, n.Operands[2].Results()...), n.Operands[3].Results()...)
}

// exact reports whether a node's value in fp32 is exactly the intended one for all inputs.
func (n *Node) exact() bool {
	switch n.Kind {
	case Input:
		return true
	case Constant:
		return inFP32(n.Value)
	case Neg:
		return n.Operands[0].exact()
	}
	return false
}

// Shifts reports whether a node is an input times a power of two, which is exact in a dtype that has the
// input.
func (n *Node) Shifts() bool {
	return n.doubles() && (n.Operands[0].Kind == Input || n.Operands[1].Kind == Input)
}

// doubles reports whether a node is a product by a power of two.
func (n *Node) doubles() bool {
	return n.Kind == Mul && (n.Operands[0].powerOfTwo() || n.Operands[1].powerOfTwo())
}

// powerOfTwo reports whether a node is a constant whose products are exact.
func (n *Node) powerOfTwo() bool {
	m, _ := math.Frexp(n.Value)
	return n.Kind == Constant && math.Abs(m) == 0.5
}

// inFP32 reports whether fp32 represents a number exactly.
func inFP32(x float64) bool { return float64(float32(x)) == x }
