package op

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// maxExpression is the longest expression in a spec, in bytes: a bound on the depth of evaluation.
const maxExpression = 500

// Expression is a formula over named sizes in Go's syntax: + - * / %, comparisons, && || !, parentheses,
// ceildiv(a, b), min and max. Evaluated as integers it is exact: division and % round down, and an overflow
// is an error, never a wrong number. Comparisons return 1 or 0. Evaluated as floats, / divides and sqrt(x) is
// available too. The zero value is no expression.
type Expression struct {
	text  string
	root  ast.Expr
	names []string
	float bool
}

// ParseExpression reads an expression whose names must all be known. float permits what integers do not: sqrt
// and literals such as 1e-5.
func ParseExpression(text string, known func(name string) bool, float bool) (Expression, error) {
	if len(text) > maxExpression {
		return Expression{}, fmt.Errorf("expression of %d characters: want at most %d",
			len(text), maxExpression)
	}
	root, err := parser.ParseExpr(text)
	if err != nil {
		if list := scanner.ErrorList(nil); errors.As(err, &list) && len(list) > 0 {
			return Expression{}, fmt.Errorf("expression %q, column %d: %s", text, list[0].Pos.Column,
				list[0].Msg)
		}
		return Expression{}, fmt.Errorf("expression %q: %w", text, err)
	}
	e := Expression{text: text, root: root, float: float}
	if err := e.check(root, known); err != nil {
		return Expression{}, fmt.Errorf("expression %q: %w", text, err)
	}
	return e, nil
}

// String returns the text the expression was read from.
func (e Expression) String() string { return e.text }

// Names lists the names the expression uses, each once, in the order they appear.
func (e Expression) Names() []string { return e.names }

var arity = map[string]int{"ceildiv": 2, "min": 2, "max": 2, "sqrt": 1}

const operators = "+ - * / % == != < <= > >= && ||"

// check rejects every form of Go that is not part of the language, and every unknown name.
func (e *Expression) check(node ast.Expr, known func(string) bool) error {
	switch n := node.(type) {
	case *ast.BasicLit:
		if n.Kind == token.INT {
			if _, err := strconv.ParseInt(n.Value, 0, 64); err != nil {
				return fmt.Errorf("number %s does not fit 64 bits", n.Value)
			}
			return nil
		}
		if _, err := strconv.ParseFloat(n.Value, 64); n.Kind != token.FLOAT || !e.float || err != nil {
			return fmt.Errorf("%s is no integer", n.Value)
		}
		return nil
	case *ast.Ident:
		if !known(n.Name) {
			return fmt.Errorf("unknown name %q", n.Name)
		}
		for _, seen := range e.names {
			if seen == n.Name {
				return nil
			}
		}
		e.names = append(e.names, n.Name)
		return nil
	case *ast.ParenExpr:
		return e.check(n.X, known)
	case *ast.UnaryExpr:
		if n.Op != token.SUB && n.Op != token.NOT {
			return fmt.Errorf("operator %s: want - or !", n.Op)
		}
		return e.check(n.X, known)
	case *ast.BinaryExpr:
		if !strings.Contains(" "+operators+" ", " "+n.Op.String()+" ") {
			return fmt.Errorf("operator %s: want one of %s", n.Op, operators)
		}
		if err := e.check(n.X, known); err != nil {
			return err
		}
		return e.check(n.Y, known)
	case *ast.CallExpr:
		name, _ := n.Fun.(*ast.Ident)
		if name == nil || arity[name.Name] == 0 || name.Name == "sqrt" && !e.float {
			return errors.New("unknown function: want ceildiv, min or max (and sqrt in a float)")
		}
		if len(n.Args) != arity[name.Name] || n.Ellipsis.IsValid() {
			return fmt.Errorf("%s has %d arguments: want %d", name.Name, len(n.Args), arity[name.Name])
		}
		for _, a := range n.Args {
			if err := e.check(a, known); err != nil {
				return err
			}
		}
		return nil
	default:
		return errors.New("only numbers, names, operators and ceildiv, min, max are allowed")
	}
}

// ErrOverflow is the error of an expression whose value, or a part of it, does not fit 64 bits.
var ErrOverflow = errors.New("the result does not fit 64 bits")

// Int evaluates the expression in 64-bit integers.
func (e Expression) Int(value func(name string) (int64, bool)) (int64, error) {
	if e.root == nil {
		return 0, errors.New("evaluate an empty expression")
	}
	v, err := evalInt(e.root, value)
	if err != nil {
		return 0, fmt.Errorf("evaluate %s: %w", e.text, err)
	}
	return v, nil
}

func evalInt(node ast.Expr, value func(string) (int64, bool)) (int64, error) {
	switch n := node.(type) {
	case *ast.BasicLit:
		return strconv.ParseInt(n.Value, 0, 64)
	case *ast.Ident:
		v, ok := value(n.Name)
		if !ok {
			return 0, fmt.Errorf("%s has no value", n.Name)
		}
		return v, nil
	case *ast.ParenExpr:
		return evalInt(n.X, value)
	case *ast.UnaryExpr:
		x, err := evalInt(n.X, value)
		if err != nil {
			return 0, err
		}
		if n.Op == token.NOT {
			return truth(x == 0), nil
		}
		if x == math.MinInt64 {
			return 0, ErrOverflow
		}
		return -x, nil
	case *ast.BinaryExpr:
		x, err := evalInt(n.X, value)
		if err != nil {
			return 0, err
		}
		if n.Op == token.LAND && x == 0 || n.Op == token.LOR && x != 0 {
			return truth(x != 0), nil
		}
		y, err := evalInt(n.Y, value)
		if err != nil {
			return 0, err
		}
		return binaryInt(n.Op, x, y)
	case *ast.CallExpr:
		x, err := evalInt(n.Args[0], value)
		if err != nil {
			return 0, err
		}
		y, err := evalInt(n.Args[1], value)
		if err != nil {
			return 0, err
		}
		switch n.Fun.(*ast.Ident).Name {
		case "min":
			return min(x, y), nil
		case "max":
			return max(x, y), nil
		}
		q, r, err := floorDiv(x, y)
		if err == nil && r != 0 {
			q++ // below the largest number: |q| is at most half of it where a remainder is left
		}
		return q, err
	}
	return 0, errors.New("no integer expression")
}

func binaryInt(operator token.Token, x, y int64) (int64, error) {
	switch operator {
	case token.ADD:
		if s := x + y; (s > x) == (y > 0) {
			return s, nil
		}
		return 0, ErrOverflow
	case token.SUB:
		if s := x - y; (s < x) == (y > 0) {
			return s, nil
		}
		return 0, ErrOverflow
	case token.MUL:
		return CheckedMul(x, y)
	case token.QUO:
		q, _, err := floorDiv(x, y)
		return q, err
	case token.REM:
		_, r, err := floorDiv(x, y)
		return r, err
	case token.LAND:
		return truth(x != 0 && y != 0), nil
	case token.LOR:
		return truth(x != 0 || y != 0), nil
	}
	return truth(compare(operator, x, y)), nil
}

// CheckedMul returns the product, or ErrOverflow.
func CheckedMul(x, y int64) (int64, error) {
	high, low := bits.Mul64(magnitude(x), magnitude(y))
	negative := (x < 0) != (y < 0)
	if high != 0 || low > 1<<63 || low == 1<<63 && !negative {
		return 0, ErrOverflow
	}
	if negative {
		return -int64(low), nil
	}
	return int64(low), nil
}

func magnitude(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}

// floorDiv returns the quotient rounded down and the remainder that has the sign of y.
func floorDiv(x, y int64) (quotient, remainder int64, err error) {
	if y == 0 {
		return 0, 0, errors.New("division by zero")
	}
	if x == math.MinInt64 && y == -1 {
		return 0, 0, ErrOverflow
	}
	quotient, remainder = x/y, x%y
	if remainder != 0 && (remainder < 0) != (y < 0) {
		quotient--
		remainder += y
	}
	return quotient, remainder, nil
}

func compare[N int64 | float64](operator token.Token, x, y N) bool {
	switch operator {
	case token.EQL:
		return x == y
	case token.NEQ:
		return x != y
	case token.LSS:
		return x < y
	case token.LEQ:
		return x <= y
	case token.GTR:
		return x > y
	default:
		return x >= y
	}
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// Float evaluates the expression in fp64; a result that is not finite is an error.
func (e Expression) Float(value func(name string) (float64, bool)) (float64, error) {
	if e.root == nil {
		return 0, errors.New("evaluate an empty expression")
	}
	v, err := evalFloat(e.root, value)
	if err != nil {
		return 0, fmt.Errorf("evaluate %s: %w", e.text, err)
	}
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("evaluate %s: the result is %v: want a finite number", e.text, v)
	}
	return v, nil
}

func evalFloat(node ast.Expr, value func(string) (float64, bool)) (float64, error) {
	switch n := node.(type) {
	case *ast.BasicLit:
		if n.Kind == token.INT {
			v, err := strconv.ParseInt(n.Value, 0, 64)
			return float64(v), err
		}
		return strconv.ParseFloat(n.Value, 64)
	case *ast.Ident:
		v, ok := value(n.Name)
		if !ok {
			return 0, fmt.Errorf("%s has no value", n.Name)
		}
		return v, nil
	case *ast.ParenExpr:
		return evalFloat(n.X, value)
	case *ast.UnaryExpr:
		x, err := evalFloat(n.X, value)
		if n.Op == token.NOT {
			return float64(truth(x == 0)), err
		}
		return -x, err
	case *ast.BinaryExpr:
		x, err := evalFloat(n.X, value)
		if err != nil {
			return 0, err
		}
		y, err := evalFloat(n.Y, value)
		if err != nil {
			return 0, err
		}
		return binaryFloat(n.Op, x, y), nil
	case *ast.CallExpr:
		return callFloat(n, value)
	}
	return 0, errors.New("no float expression")
}

func binaryFloat(operator token.Token, x, y float64) float64 {
	switch operator {
	case token.ADD:
		return x + y
	case token.SUB:
		return x - y
	case token.MUL:
		return x * y
	case token.QUO:
		return x / y
	case token.REM:
		return x - float64(y*math.Floor(x/y))
	case token.LAND:
		return float64(truth(x != 0 && y != 0))
	case token.LOR:
		return float64(truth(x != 0 || y != 0))
	}
	return float64(truth(compare(operator, x, y)))
}

func callFloat(n *ast.CallExpr, value func(string) (float64, bool)) (float64, error) {
	args := [2]float64{}
	for i, a := range n.Args {
		v, err := evalFloat(a, value)
		if err != nil {
			return 0, err
		}
		args[i] = v
	}
	switch n.Fun.(*ast.Ident).Name {
	case "min":
		return min(args[0], args[1]), nil
	case "max":
		return max(args[0], args[1]), nil
	case "sqrt":
		return math.Sqrt(args[0]), nil
	default:
		return math.Ceil(args[0] / args[1]), nil
	}
}
