package op

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
)

// Pass is the direction an operator is run in. The zero value is none.
type Pass uint8

// The two passes of an operator.
const (
	PassUnknown Pass = iota
	Forward
	Backward
)

// String returns "forward" or "backward".
func (d Pass) String() string { return [...]string{"unknown", "forward", "backward"}[min(d, 2)] }

// MarshalText writes the name.
func (d Pass) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads the name.
func (d *Pass) UnmarshalText(text []byte) error {
	switch string(text) {
	case "forward":
		*d = Forward
	case "backward":
		*d = Backward
	default:
		return fmt.Errorf("pass %q: want forward or backward", text)
	}
	return nil
}

// Dim is one named size of a case.
type Dim struct {
	Name  string
	Value int64
}

// Dims are the sizes of a case in the order of the spec.
type Dims []Dim

// Get returns the size called name; it panics for an unknown name, which is a programming error: use Lookup
// for users' words.
func (d Dims) Get(name string) int64 {
	v, ok := d.Lookup(name)
	if !ok {
		panic("op: no dim " + name)
	}
	return v
}

// Lookup returns the size called name.
func (d Dims) Lookup(name string) (int64, bool) {
	for _, x := range d {
		if x.Name == name {
			return x.Value, true
		}
	}
	return 0, false
}

// Attr is one resolved attribute of a case. Number is the value that a kernel gets: booleans 0 or 1,
// enumerations their index, floats rounded to fp32. Text is the canonical form: "true", "row", "0.125", "3".
type Attr struct {
	Name   string
	Number float64
	Text   string
}

// Attrs are the attributes of a case in the order of the spec, every default resolved.
type Attrs []Attr

// Lookup returns the attribute called name.
func (a Attrs) Lookup(name string) (Attr, bool) {
	for _, x := range a {
		if x.Name == name {
			return x, true
		}
	}
	return Attr{}, false
}

// Number returns the number of the attribute called name, 0 where there is none.
func (a Attrs) Number(name string) float64 { x, _ := a.Lookup(name); return x.Number }

// Text returns the canonical text of the attribute called name, "" where there is none.
func (a Attrs) Text(name string) string { x, _ := a.Lookup(name); return x.Text }

// Case is one thing to judge: what is computed, on which sizes, from which kind of data. Its Key identifies
// it in the history. The seed is not part of it: it belongs to the run.
type Case struct {
	Op           string
	Pass         Pass
	DType        string // the case's dtype name: "bf16", "e5m2_e4m3"
	Dims         Dims
	Attrs        Attrs
	Layout       string // one of Layouts
	Distribution string // "normal", "scaled", ...
	Upstream     string // backward only: one of Upstreams
	Saved        string // backward only: "driver" or "own"; "" where the forward saves nothing
}

// DeclaresInfinity reports whether the inputs of a case may hold NaN or infinities.
func (c Case) DeclaresInfinity() bool {
	return slices.Contains([]string{"non_finite", "neg_inf_mask", "neg_inf_blocks"}, c.Distribution) ||
		c.Upstream == "non_finite"
}

// MarshalJSON returns the stable form: dims and attributes as objects in the order of the spec, upstream and
// saved null for a forward.
func (c Case) MarshalJSON() ([]byte, error) {
	type pair struct {
		k string
		v any
	}
	object := func(pairs []pair) json.RawMessage {
		out := []byte{'{'}
		for i, p := range pairs {
			if i > 0 {
				out = append(out, ',')
			}
			k, _ := json.Marshal(p.k)
			v, _ := json.Marshal(p.v)
			out = append(append(append(out, k...), ':'), v...)
		}
		return append(out, '}')
	}
	dims := make([]pair, len(c.Dims))
	for i, d := range c.Dims {
		dims[i] = pair{d.Name, d.Value}
	}
	attrs := make([]pair, len(c.Attrs))
	for i, a := range c.Attrs {
		attrs[i] = pair{a.Name, a.Text}
	}
	orNull := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	return object([]pair{
		{"op", c.Op},
		{"pass", c.Pass},
		{"dtype", c.DType},
		{"dims", object(dims)},
		{"attributes", object(attrs)},
		{"layout", c.Layout},
		{"distribution", c.Distribution},
		{"upstream", orNull(c.Upstream)},
		{"saved", orNull(c.Saved)},
	}), nil
}

// Key returns a hash of the case: 16 hexadecimal digits, the same on every machine and in every version that
// means the same thing.
func (c Case) Key() string {
	b, _ := json.Marshal(c)
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// TensorType is a tensor of a case as the spec declares it, with dtype and shape resolved.
type TensorType struct {
	Name           string
	DType          DType
	Shape          []int64
	Sizes          []string // the expression that gives each size: "rows", "ceildiv(k, 128)"
	Optional       bool     // an output that an implementation may leave out
	Given          bool     // an output that is a choice of the kernel's: judged first, by its own rule
	Differentiable bool     // an input that has a gradient, or an upstream gradient
	Strided        bool     // a layout of the case applies to it
	Fill           string
}

// Elements returns the number of elements.
func (t TensorType) Elements() int64 {
	n := int64(1)
	for _, s := range t.Shape {
		n *= s
	}
	return n
}
