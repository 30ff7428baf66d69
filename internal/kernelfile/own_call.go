package kernelfile

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/layout"
)

// Call is one call of a pass of an operator. The function receives everything about it as words, which are
// numbers, so one library of a file serves every interpretation of its functions.
type Call struct {
	Inputs, Outputs []op.TensorType
	Gaps            []string // the inputs that are not contiguous
	Attributes      []float64
}

// The locations of a value of a call, as in cuda/include/own_call.cuh.
const (
	noPlace = iota
	ofInput
	ofOutput
	ofWorkspace
)

// location is a byte offset into a tensor or the workspace; with noPlace it is a number.
type location struct {
	of, index int
	bytes     int64
}

// slot is a value that a call passes at run time: a location or a number.
type slot struct {
	location
	real float64
}

func wholeSlot(n int64) slot { return slot{location{bytes: n}, float64(n)} }

// copied is a copy between two locations, or a fill with zeros: rows of fixed length, in three loops.
type copied struct {
	to, from               location
	many, toStep, fromStep [3]int64
	bytes                  int64
}

// plan holds the values and copies that the shim takes at run time. It grows while the shim is written, so
// interpretations with the same text differ only in it.
type plan struct {
	slots  []func(*evaluation) slot
	copies []func(*evaluation) []copied
}

// evaluation computes the values of one call.
type evaluation struct {
	*Binding
	Call
	unknown string // the first invalid expression, and why
}

// slotCode adds a slot and returns the C++ that reads it.
func (b *Binding) slotCode(read string, value func(*evaluation) slot) string {
	b.plan.slots = append(b.plan.slots, value)
	return fmt.Sprintf("triad_own::%s(triad_own_call, %d)", read, len(b.plan.slots)-1)
}

// numberCode returns the C++ of an integer of the call.
func (b *Binding) numberCode(value func(*evaluation) int64) string {
	return b.slotCode("whole", func(e *evaluation) slot { return wholeSlot(value(e)) })
}

// sizeCode returns the C++ of an expression of sizes.
func (b *Binding) sizeCode(text string) string {
	return b.numberCode(func(e *evaluation) int64 { return e.whole(text) })
}

// placeCode returns the C++ of a pointer to an argument of the call.
func (b *Binding) placeCode(kind string, a Argument, at int) string {
	return b.slotCode("pointer<"+kind+">", func(e *evaluation) slot { return slot{location: e.lies(a, at)} })
}

// copiesCode adds copies and returns the C++ that performs them.
func (b *Binding) copiesCode(list func(*evaluation) []copied) string {
	b.plan.copies = append(b.plan.copies, list)
	return checked(fmt.Sprintf("triad_own::copies(triad_own_call, %d)", len(b.plan.copies)-1))
}

// Words returns the words with which the function runs for one call of the operator, as
// cuda/include/own_call.cuh reads them, or why it is not judged on that call. CUDAShim must run first.
func (b *Binding) Words(c Call) (words []int64, why string) {
	e := &evaluation{Binding: b, Call: c}
	if why = e.declines(); why != "" {
		return nil, why
	}
	taken := int64(0)
	for i, t := range b.inputs {
		if b.takes(t) {
			taken |= 1 << i
		}
	}
	words = []int64{e.workBefore(len(b.Args)), taken, int64(len(b.plan.slots))}
	add := func(p location) { words = append(words, int64(p.of), int64(p.index), p.bytes) }
	for _, value := range b.plan.slots {
		s := value(e)
		add(s.location)
		words = append(words, int64(math.Float64bits(s.real)))
	}
	for _, list := range b.plan.copies {
		copies := list(e)
		words = append(words, int64(len(copies)))
		for _, c := range copies {
			add(c.to)
			add(c.from)
			words = append(slices.Concat(words, c.many[:], c.toStep[:], c.fromStep[:]), c.bytes)
		}
	}
	return words, e.unknown
}

// takes reports whether the function is given an input or is judged without it.
func (b *Binding) takes(t op.TensorSpec) bool { return b.has(Input, t.Name) || b.without[t.Name] }

// declines returns why the function is not judged on the call, "" if it is.
func (e *evaluation) declines() string {
	for _, t := range e.inputs {
		if e.takes(t) && slices.Contains(e.Gaps, t.Name) {
			return t.Name + " is not contiguous"
		}
	}
	for _, c := range e.conditions() {
		if e.whole(c.code) == 0 {
			return c.sentence
		}
	}
	for _, p := range e.pinned() {
		if n := e.real(p.value); !(math.Abs(e.Attributes[p.at]-n) <= 1e-6*math.Abs(n)+1e-30) {
			return p.sentence
		}
	}
	for _, group := range e.byMain() {
		if group.Main != e.Inputs[0].DType {
			continue
		}
		for _, a := range e.Args {
			if a.Role != Input && a.Role != Output || a.Adapter == layout.Narrow ||
				a.Adapter == layout.BlockTotals {
				continue
			}
			own := a.Instantiate(group.types)
			element, any, _ := own.Element()
			want, _ := tensorDType(e.tensor(a), group.DType)
			element = e.heldBy(element, want)
			if !any && !own.IsBytes() && e.typeOf(a).DType != element {
				return fmt.Sprintf("%s is %s in %s", e.tensor(a).Name, element, e.Function.Name)
			}
		}
	}
	return ""
}

// named returns the index of a tensor in a list.
func named(list []op.TensorSpec, name string) int {
	return slices.IndexFunc(list, func(t op.TensorSpec) bool { return t.Name == name })
}

// typeOf returns the tensor of the call that an argument stands for.
func (e *evaluation) typeOf(a Argument) op.TensorType {
	if a.Role == Output {
		return e.Outputs[named(e.outputs, a.Target)]
	}
	return e.Inputs[named(e.inputs, a.Target)]
}

// number returns a size or an attribute by name, 0 if the call has none of that name.
func (e *evaluation) number(name string) float64 {
	if name == nothingToWrite {
		if slices.ContainsFunc(e.Outputs, func(t op.TensorType) bool { return t.Elements() > 0 }) {
			return 0
		}
		return 1
	}
	if shown, ok := op.ShownBy(name, e.inputs, e.outputs); ok {
		t := e.Inputs
		if shown.Output {
			t = e.Outputs
		}
		return float64(t[shown.Tensor].Shape[shown.Axis] * shown.Times)
	}
	for i, a := range e.Spec.Attributes {
		if a.Name == name {
			return e.Attributes[i]
		}
	}
	return 0
}

func (e *evaluation) parsed(text string, float bool) op.Expression {
	x, err := op.ParseExpression(text, func(string) bool { return true }, float)
	if err != nil && e.unknown == "" {
		e.unknown = fmt.Sprintf("triad cannot call %s: %v", e.Function.Name, err)
	}
	return x
}

// whole evaluates an expression of a spec or a flag. It returns 0 for what cannot be evaluated, such as a
// division by a size of 0.
func (e *evaluation) whole(text string) int64 {
	n, err := e.parsed(text, false).Int(func(name string) (int64, bool) {
		return int64(e.number(name)), true
	})
	if err != nil {
		return 0
	}
	return n
}

// real evaluates an expression in which every number is a float.
func (e *evaluation) real(text string) float64 {
	x, err := e.parsed(text, true).Float(func(name string) (float64, bool) { return e.number(name), true })
	if err != nil {
		return 0
	}
	return x
}

// product returns the product of the sides of a grid or a block.
func (e *evaluation) product(sides [3]string) int64 {
	return e.whole(sides[0]) * e.whole(sides[1]) * e.whole(sides[2])
}

// sizeOf returns the size that a parameter stands for: a dim, a product, or the first of several equal dims.
func (e *evaluation) sizeOf(a Argument) int64 {
	dims := dimsOf(a.Target)
	if !strings.Contains(a.Target, "*") {
		dims = dims[:1]
	}
	n := int64(1)
	for _, d := range dims {
		n *= e.whole(d)
	}
	if a.Share == 0 {
		return n
	}
	small := int64(1) // the two factors that are closest to each other
	for i := int64(1); i*i <= n; i++ {
		if n%i == 0 {
			small = i
		}
	}
	if a.Share == 1 {
		return small
	}
	return n / small
}

// value returns the value of an argument that takes one slot.
func (e *evaluation) value(a Argument, at int) slot {
	switch {
	case a.Adapter != layout.AsItLies, a.Role == Input, a.Role == Output:
		return slot{location: e.lies(a, at)}
	case a.Role == Size:
		return wholeSlot(e.sizeOf(a))
	case a.Role == Attribute:
		x := e.Attributes[a.Index]
		return slot{location{bytes: int64(x)}, x}
	case a.Role == Constant:
		if n, err := strconv.ParseInt(constantWord(a), 0, 64); err == nil {
			return wholeSlot(n)
		}
		x, _ := strconv.ParseFloat(constantWord(a), 64)
		return slot{location{bytes: int64(x)}, x}
	}
	return slot{}
}

// lies returns the location of an argument at the time of the call.
func (e *evaluation) lies(a Argument, at int) location {
	switch {
	case a.Adapter != layout.AsItLies:
		return location{of: ofWorkspace, bytes: e.workBefore(at)}
	case a.Role == Output:
		return location{of: ofOutput, index: a.Index}
	}
	return location{of: ofInput, index: named(e.inputs, a.Target)}
}

// rows returns the copy of consecutive rows.
func rows(to location, toStep int64, from location, fromStep, bytes, many int64) copied {
	return copied{to, from, [3]int64{1, 1, many}, [3]int64{0, 0, toStep}, [3]int64{0, 0, fromStep}, bytes}
}

// roomCode returns the C++ of the number of bytes that an argument points to.
func (b *Binding) roomCode(a Argument) string {
	return "static_cast<size_t>(" + b.numberCode(func(e *evaluation) int64 { return e.room(a) }) + ")"
}

// zeros returns a copy that fills a location with zeros.
func zeros(at location, bytes int64) copied { return rows(at, bytes, location{}, bytes, bytes, 1) }

func (p location) plus(bytes int64) location { return location{p.of, p.index, p.bytes + bytes} }

// bshd copies a tensor [batch, heads, seq, dim] to or from a place where the heads of a token are
// adjacent; wide is the number of bytes from one token to the next.
func bshd(t op.TensorType, lies, there location, wide int64, into bool) copied {
	heads, seq, row := t.Shape[1], t.Shape[2], t.Shape[3]*t.DType.Size()
	c := copied{
		there, lies,
		[3]int64{t.Shape[0], heads, seq},
		[3]int64{seq * wide, row, wide},
		[3]int64{heads * seq * row, seq * row, row},
		row,
	}
	if !into {
		c.to, c.from, c.toStep, c.fromStep = c.from, c.to, c.fromStep, c.toStep
	}
	return c
}

func tokenBytes(t op.TensorType) int64 { return t.Shape[1] * t.Shape[3] * t.DType.Size() }

func bytesOf(t op.TensorType) int64 { return t.Elements() * t.DType.Size() }

// before returns the copies and zero fills that precede a call of the function.
func (e *evaluation) before(args []Argument) (all []copied) {
	for i, a := range args {
		if a.Role != Input && a.Role != Output || a.Adapter == layout.AsItLies {
			continue
		}
		there, unmoved := e.lies(a, i), a
		unmoved.Adapter = layout.AsItLies
		from := e.lies(unmoved, i)
		if a.Adapter == layout.Packed {
			all = append(all, e.packs(a, there)...)
			continue
		}
		t := e.typeOf(a)
		size := t.DType.Size()
		switch {
		case a.Adapter == layout.Wide:
			row := t.Shape[1] * size
			all = append(all, rows(there, 2*row, from, row, row, t.Shape[0]),
				rows(there.plus(row), 2*row, from, row, row, t.Shape[0]))
		case a.Adapter == layout.BSHD && a.Role == Input:
			all = append(all, bshd(t, from, there, tokenBytes(t), true))
		}
	}
	for i, a := range args {
		out := location{of: ofOutput, index: a.Index}
		adds := e.accumulates(a)
		switch {
		case a.Over != "":
			n := bytesOf(e.Outputs[a.Index])
			over := location{of: ofInput, index: named(e.inputs, a.Over)}
			all = append(all, rows(out, n, over, n, n, 1))
		case a.Adapter == layout.BlockTotals && e.Launch == nil,
			adds && (a.Adapter == layout.BSHD || a.Adapter == layout.Narrow ||
				a.Adapter == layout.BlockTotals),
			a.Adapter == layout.Scratch && a.Fill == layout.FillZero:
			all = append(all, zeros(e.lies(a, i), e.room(a)))
		case adds:
			all = append(all, zeros(out, bytesOf(e.Outputs[a.Index])))
		}
	}
	return all
}

// packs puts several inputs into one buffer, one after the other or row by row.
func (e *evaluation) packs(a Argument, to location) (all []copied) {
	wide := int64(0)
	row := func(t op.TensorType) int64 {
		if e.bshd {
			return tokenBytes(t)
		}
		return t.Shape[1] * t.DType.Size()
	}
	interleaved := e.bshd || a.Lies == layout.RowByRow
	for _, name := range a.Parts {
		if interleaved {
			wide += row(e.Inputs[named(e.inputs, name)])
		}
	}
	for _, name := range a.Parts {
		at := named(e.inputs, name)
		t, from := e.Inputs[at], location{of: ofInput, index: at}
		n := bytesOf(t)
		switch {
		case e.bshd:
			all = append(all, bshd(t, from, to, wide, true))
			to = to.plus(row(t))
		case a.Lies == layout.RowByRow:
			all = append(all, rows(to, wide, from, row(t), row(t), t.Shape[0]))
			to = to.plus(row(t))
		default:
			all = append(all, rows(to, n, from, n, n, 1))
			to = to.plus(n)
		}
	}
	return all
}

// after returns the copies that put the results of a call where the operator has them.
func (e *evaluation) after(args []Argument) (all []copied) {
	for i, a := range args {
		if a.Adapter == layout.BSHD && a.Role == Output {
			t := e.typeOf(a)
			out := location{of: ofOutput, index: a.Index}
			all = append(all, bshd(t, out, e.lies(a, i), tokenBytes(t), false))
		}
	}
	return all
}

// leastScratch is the minimum size of scratch memory in bytes: callers pass a fixed number of partial sums.
const leastScratch = 1 << 20

// room returns the number of bytes that an argument points to.
func (e *evaluation) room(a Argument) int64 {
	switch a.Adapter {
	case layout.Scratch: // eight bytes for each element of the largest tensor
		most := int64(1)
		for _, t := range slices.Concat(e.Inputs, e.Outputs) {
			most = max(most, t.Elements())
		}
		if own := e.Spec.Own.Scratch; own != "" {
			most += e.whole(own)
		}
		return max(8*most, leastScratch)
	case layout.Packed:
		sum := int64(0)
		for _, name := range a.Parts {
			sum += bytesOf(e.Inputs[named(e.inputs, name)])
		}
		return sum
	case layout.Wide:
		return 2 * bytesOf(e.typeOf(a))
	case layout.BlockTotals: // no value is larger than eight bytes
		return 8 * e.blocksOf()
	case layout.BSHD:
		bytes := bytesOf(e.typeOf(a))
		for _, name := range slices.Sorted(maps.Keys(e.Spec.Own.Each)) {
			if e.each && e.Spec.Own.Each[name] == a.Target { // the second call has the same room
				other := a
				other.Target = name
				bytes += bytesOf(e.typeOf(other))
			}
		}
		return bytes
	}
	return bytesOf(e.typeOf(a))
}

// workBefore returns the number of workspace bytes that the first n arguments take.
func (e *evaluation) workBefore(n int) (sum int64) {
	const align = 256
	for _, a := range e.Args[:n] {
		if a.Adapter != layout.AsItLies {
			sum += (e.room(a) + align - 1) / align * align
		}
	}
	return sum
}

// mostBlocks is the room for values of blocks where the lines of a host function decide their number.
const mostBlocks = 1 << 16

// blocksOf returns the number of blocks that the kernel is launched with, or more: the room begins with
// zeros.
func (e *evaluation) blocksOf() int64 {
	if e.Launch == nil {
		return max(e.Inputs[0].Elements(), mostBlocks)
	}
	return e.product(e.Launch.Grid)
}
