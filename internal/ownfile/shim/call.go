package shim

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/layout"
)

// The locations of a value of a call, as in cuda/include/own_call.cuh.
const (
	NoPlace = iota
	ofInput
	ofOutput
	OfWorkspace
)

func wholeSlot(n int64) binding.Slot {
	return binding.Slot{Location: binding.Location{Bytes: n}, Real: float64(n)}
}

// slotCode adds a slot and returns the C++ that reads it.
func slotCode(b *binding.Binding, read string, value func(*binding.Evaluation) binding.Slot) string {
	b.Plan.Slots = append(b.Plan.Slots, value)
	return fmt.Sprintf("triad_own::%s(triad_own_call, %d)", read, len(b.Plan.Slots)-1)
}

// numberCode returns the C++ of an integer of the call.
func numberCode(b *binding.Binding, value func(*binding.Evaluation) int64) string {
	return slotCode(b, "whole", func(e *binding.Evaluation) binding.Slot { return wholeSlot(value(e)) })
}

// sizeCode returns the C++ of an expression of sizes.
func sizeCode(b *binding.Binding, text string) string {
	return numberCode(b, func(e *binding.Evaluation) int64 { return whole(e, text) })
}

// placeCode returns the C++ of a pointer to an argument of the call.
func placeCode(b *binding.Binding, kind string, a binding.Argument, at int) string {
	return slotCode(b, "pointer<"+kind+">",
		func(e *binding.Evaluation) binding.Slot { return binding.Slot{Location: lies(e, a, at)} })
}

// copiesCode adds copies and returns the C++ that performs them.
func copiesCode(b *binding.Binding, list func(*binding.Evaluation) []binding.Copied) string {
	b.Plan.Copies = append(b.Plan.Copies, list)
	return checked(fmt.Sprintf("triad_own::copies(triad_own_call, %d)", len(b.Plan.Copies)-1))
}

// Words returns the words with which the function runs for one call of the operator, as
// cuda/include/own_call.cuh reads them, or why it is not judged on that call. CUDAShim must run first.
func Words(b *binding.Binding, c binding.Call) (words []int64, why string) {
	e := &binding.Evaluation{Binding: b, Call: c}
	if why = declines(e); why != "" {
		return nil, why
	}
	taken := int64(0)
	for i, t := range b.InputSpecs {
		if takes(b, t) {
			taken |= 1 << i
		}
	}
	words = []int64{workBefore(e, len(b.Args)), taken, int64(len(b.Plan.Slots))}
	add := func(p binding.Location) { words = append(words, int64(p.Of), int64(p.Index), p.Bytes) }
	for _, value := range b.Plan.Slots {
		s := value(e)
		add(s.Location)
		words = append(words, int64(math.Float64bits(s.Real)))
	}
	for _, list := range b.Plan.Copies {
		copies := list(e)
		words = append(words, int64(len(copies)))
		for _, c := range copies {
			add(c.To)
			add(c.From)
			words = append(slices.Concat(words, c.Many[:], c.ToStep[:], c.FromStep[:]), c.Bytes)
		}
	}
	return words, e.Unknown
}

// takes reports whether the function is given an input or is judged without it.
func takes(b *binding.Binding, t op.TensorSpec) bool {
	return b.Has(binding.Input, t.Name) || b.Without[t.Name]
}

// declines returns why the function is not judged on the call, "" if it is.
func declines(e *binding.Evaluation) string {
	for _, t := range e.InputSpecs {
		if takes(e.Binding, t) && slices.Contains(e.Gaps, t.Name) {
			return t.Name + " is not contiguous"
		}
	}
	for _, c := range conditions(e.Binding) {
		if whole(e, c.Code) == 0 {
			return c.Sentence
		}
	}
	for _, p := range pinned(e.Binding) {
		if n := real(e, p.value); !(math.Abs(e.Attributes[p.at]-n) <= 1e-6*math.Abs(n)+1e-30) {
			return p.sentence
		}
	}
	for _, group := range byMain(e.Binding) {
		if group.Main != e.Inputs[0].DType {
			continue
		}
		for _, a := range e.Args {
			if a.Role != binding.Input && a.Role != binding.Output || a.Adapter == layout.Narrow ||
				a.Adapter == layout.BlockTotals {
				continue
			}
			own := a.Instantiate(group.Types)
			element, any, _ := own.Element()
			want, _ := binding.TensorDType(e.Tensor(a), group.DType)
			element = e.HeldBy(element, want)
			if !any && !own.IsBytes() && typeOf(e, a).DType != element {
				return fmt.Sprintf("%s is %s in %s", e.Tensor(a).Name, element, e.Function.Name)
			}
		}
	}
	return ""
}

// typeOf returns the tensor of the call that an argument stands for.
func typeOf(e *binding.Evaluation, a binding.Argument) op.TensorType {
	if a.Role == binding.Output {
		return e.Outputs[binding.Named(e.OutputSpecs, a.Target)]
	}
	return e.Inputs[binding.Named(e.InputSpecs, a.Target)]
}

// number returns a size or an attribute by name, 0 if the call has none of that name.
func number(e *binding.Evaluation, name string) float64 {
	if name == nothingToWrite {
		if slices.ContainsFunc(e.Outputs, func(t op.TensorType) bool { return t.Elements() > 0 }) {
			return 0
		}
		return 1
	}
	if shown, ok := op.ShownBy(name, e.InputSpecs, e.OutputSpecs); ok {
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

func parsed(e *binding.Evaluation, text string, float bool) op.Expression {
	x, err := op.ParseExpression(text, func(string) bool { return true }, float)
	if err != nil && e.Unknown == "" {
		e.Unknown = fmt.Sprintf("triad cannot call %s: %v", e.Function.Name, err)
	}
	return x
}

// whole evaluates an expression of a spec or a flag. It returns 0 for what cannot be evaluated, such as a
// division by a size of 0.
func whole(e *binding.Evaluation, text string) int64 {
	n, err := parsed(e, text, false).Int(func(name string) (int64, bool) {
		return int64(number(e, name)), true
	})
	if err != nil {
		return 0
	}
	return n
}

// real evaluates an expression in which every number is a float.
func real(e *binding.Evaluation, text string) float64 {
	x, err := parsed(e, text, true).Float(func(name string) (float64, bool) { return number(e, name), true })
	if err != nil {
		return 0
	}
	return x
}

// product returns the product of the sides of a grid or a block.
func product(e *binding.Evaluation, sides [3]string) int64 {
	return whole(e, sides[0]) * whole(e, sides[1]) * whole(e, sides[2])
}

// sizeOf returns the size that a parameter stands for: a dim, a product, or the first of several equal dims.
func sizeOf(e *binding.Evaluation, a binding.Argument) int64 {
	dims := binding.DimsOf(a.Target)
	if !strings.Contains(a.Target, "*") {
		dims = dims[:1]
	}
	n := int64(1)
	for _, d := range dims {
		n *= whole(e, d)
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
func value(e *binding.Evaluation, a binding.Argument, at int) binding.Slot {
	switch {
	case a.Adapter != layout.AsItLies, a.Role == binding.Input, a.Role == binding.Output:
		return binding.Slot{Location: lies(e, a, at)}
	case a.Role == binding.Size:
		return wholeSlot(sizeOf(e, a))
	case a.Role == binding.Attribute:
		x := e.Attributes[a.Index]
		return binding.Slot{Location: binding.Location{Bytes: int64(x)}, Real: x}
	case a.Role == binding.Constant:
		if n, err := strconv.ParseInt(binding.ConstantWord(a), 0, 64); err == nil {
			return wholeSlot(n)
		}
		x, _ := strconv.ParseFloat(binding.ConstantWord(a), 64)
		return binding.Slot{Location: binding.Location{Bytes: int64(x)}, Real: x}
	}
	return binding.Slot{}
}

// lies returns the location of an argument at the time of the call.
func lies(e *binding.Evaluation, a binding.Argument, at int) binding.Location {
	switch {
	case a.Adapter != layout.AsItLies:
		return binding.Location{Of: OfWorkspace, Bytes: workBefore(e, at)}
	case a.Role == binding.Output:
		return binding.Location{Of: ofOutput, Index: a.Index}
	}
	return binding.Location{Of: ofInput, Index: binding.Named(e.InputSpecs, a.Target)}
}

// rows returns the copy of consecutive rows.
func rows(to binding.Location, toStep int64, from binding.Location, fromStep, bytes,
	many int64,
) binding.Copied {
	return binding.Copied{
		To: to, From: from, Bytes: bytes,
		Many: [3]int64{1, 1, many}, ToStep: [3]int64{0, 0, toStep}, FromStep: [3]int64{0, 0, fromStep},
	}
}

// roomCode returns the C++ of the number of bytes that an argument points to.
func roomCode(b *binding.Binding, a binding.Argument) string {
	return "static_cast<size_t>(" + numberCode(b, func(e *binding.Evaluation) int64 { return room(e, a) }) +
		")"
}

// zeros returns a copy that fills a location with zeros.
func zeros(at binding.Location, bytes int64) binding.Copied {
	return rows(at, bytes, binding.Location{}, bytes, bytes, 1)
}

func plus(p binding.Location, bytes int64) binding.Location {
	return binding.Location{Of: p.Of, Index: p.Index, Bytes: p.Bytes + bytes}
}

// bshd copies a tensor [batch, heads, seq, dim] to or from a place where the heads of a token are
// adjacent; wide is the number of bytes from one token to the next.
func bshd(t op.TensorType, lies, there binding.Location, wide int64, into bool) binding.Copied {
	heads, seq, row := t.Shape[1], t.Shape[2], t.Shape[3]*t.DType.Size()
	c := binding.Copied{
		To: there, From: lies, Bytes: row,
		Many:     [3]int64{t.Shape[0], heads, seq},
		ToStep:   [3]int64{seq * wide, row, wide},
		FromStep: [3]int64{heads * seq * row, seq * row, row},
	}
	if !into {
		c.To, c.From, c.ToStep, c.FromStep = c.From, c.To, c.FromStep, c.ToStep
	}
	return c
}

func tokenBytes(t op.TensorType) int64 { return t.Shape[1] * t.Shape[3] * t.DType.Size() }

func bytesOf(t op.TensorType) int64 { return t.Elements() * t.DType.Size() }

// before returns the copies and zero fills that precede a call of the function.
func before(e *binding.Evaluation, args []binding.Argument) (all []binding.Copied) {
	for i, a := range args {
		if a.Role != binding.Input && a.Role != binding.Output || a.Adapter == layout.AsItLies {
			continue
		}
		there, unmoved := lies(e, a, i), a
		unmoved.Adapter = layout.AsItLies
		from := lies(e, unmoved, i)
		if a.Adapter == layout.Packed {
			all = append(all, packs(e, a, there)...)
			continue
		}
		t := typeOf(e, a)
		size := t.DType.Size()
		switch {
		case a.Adapter == layout.Wide:
			row := t.Shape[1] * size
			all = append(all, rows(there, 2*row, from, row, row, t.Shape[0]),
				rows(plus(there, row), 2*row, from, row, row, t.Shape[0]))
		case a.Adapter == layout.BSHD && a.Role == binding.Input:
			all = append(all, bshd(t, from, there, tokenBytes(t), true))
		}
	}
	for i, a := range args {
		out := binding.Location{Of: ofOutput, Index: a.Index}
		adds := e.Accumulates(a)
		switch {
		case a.Over != "":
			n := bytesOf(e.Outputs[a.Index])
			over := binding.Location{Of: ofInput, Index: binding.Named(e.InputSpecs, a.Over)}
			all = append(all, rows(out, n, over, n, n, 1))
		case a.Adapter == layout.BlockTotals && e.Launch == nil,
			adds && (a.Adapter == layout.BSHD || a.Adapter == layout.Narrow ||
				a.Adapter == layout.BlockTotals),
			a.Adapter == layout.Scratch && a.Fill == layout.FillZero:
			all = append(all, zeros(lies(e, a, i), room(e, a)))
		case adds:
			all = append(all, zeros(out, bytesOf(e.Outputs[a.Index])))
		}
	}
	return all
}

// packs puts several inputs into one buffer, one after the other or row by row.
func packs(e *binding.Evaluation, a binding.Argument, to binding.Location) (all []binding.Copied) {
	wide := int64(0)
	row := func(t op.TensorType) int64 {
		if e.Bshd {
			return tokenBytes(t)
		}
		return t.Shape[1] * t.DType.Size()
	}
	interleaved := e.Bshd || a.Lies == layout.RowByRow
	for _, name := range a.Parts {
		if interleaved {
			wide += row(e.Inputs[binding.Named(e.InputSpecs, name)])
		}
	}
	for _, name := range a.Parts {
		at := binding.Named(e.InputSpecs, name)
		t, from := e.Inputs[at], binding.Location{Of: ofInput, Index: at}
		n := bytesOf(t)
		switch {
		case e.Bshd:
			all = append(all, bshd(t, from, to, wide, true))
			to = plus(to, row(t))
		case a.Lies == layout.RowByRow:
			all = append(all, rows(to, wide, from, row(t), row(t), t.Shape[0]))
			to = plus(to, row(t))
		default:
			all = append(all, rows(to, n, from, n, n, 1))
			to = plus(to, n)
		}
	}
	return all
}

// after returns the copies that put the results of a call where the operator has them.
func after(e *binding.Evaluation, args []binding.Argument) (all []binding.Copied) {
	for i, a := range args {
		if a.Adapter == layout.BSHD && a.Role == binding.Output {
			t := typeOf(e, a)
			out := binding.Location{Of: ofOutput, Index: a.Index}
			all = append(all, bshd(t, out, lies(e, a, i), tokenBytes(t), false))
		}
	}
	return all
}

// leastScratch is the minimum size of scratch memory in bytes: callers pass a fixed number of partial sums.
const leastScratch = 1 << 20

// room returns the number of bytes that an argument points to.
func room(e *binding.Evaluation, a binding.Argument) int64 {
	switch a.Adapter {
	case layout.Scratch: // eight bytes for each element of the largest tensor
		most := int64(1)
		for _, t := range slices.Concat(e.Inputs, e.Outputs) {
			most = max(most, t.Elements())
		}
		if own := e.Spec.Own.Scratch; own != "" {
			most += whole(e, own)
		}
		return max(8*most, leastScratch)
	case layout.Packed:
		sum := int64(0)
		for _, name := range a.Parts {
			sum += bytesOf(e.Inputs[binding.Named(e.InputSpecs, name)])
		}
		return sum
	case layout.Wide:
		return 2 * bytesOf(typeOf(e, a))
	case layout.BlockTotals: // no value is larger than eight bytes
		return 8 * blocksOf(e)
	case layout.BSHD:
		bytes := bytesOf(typeOf(e, a))
		for _, name := range slices.Sorted(maps.Keys(e.Spec.Own.Each)) {
			if e.Each && e.Spec.Own.Each[name] == a.Target { // the second call has the same room
				other := a
				other.Target = name
				bytes += bytesOf(typeOf(e, other))
			}
		}
		return bytes
	}
	return bytesOf(typeOf(e, a))
}

// workBefore returns the number of workspace bytes that the first n arguments take.
func workBefore(e *binding.Evaluation, n int) (sum int64) {
	const align = 256
	for _, a := range e.Args[:n] {
		if a.Adapter != layout.AsItLies {
			sum += (room(e, a) + align - 1) / align * align
		}
	}
	return sum
}

// mostBlocks is the room for values of blocks where the lines of a host function decide their number.
const mostBlocks = 1 << 16

// blocksOf returns the number of blocks that the kernel is launched with, or more: the room begins with
// zeros.
func blocksOf(e *binding.Evaluation) int64 {
	if e.Launch == nil {
		return max(e.Inputs[0].Elements(), mostBlocks)
	}
	return product(e, e.Launch.Grid)
}
