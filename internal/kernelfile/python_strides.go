package kernelfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"triad/internal/op"
)

// strideOfTensor returns the Python code of the stride that a parameter stands for: of the tensor that its
// name denotes, else of the first input. Strides are in the order of the sizes, unless their names give each
// size and another order: "stride_ak, stride_am". If there are fewer strides than sizes they are those of the
// last ones, and a single one is the row stride.
func (b *Binding) strideOfTensor(a Argument) (code string, err error) {
	at, _ := b.strideName(a.Param)
	count, index := 0, 0
	var said []string // the sizes in the names of its strides
	for _, o := range b.Args {
		if of, size := b.strideName(o.Param); o.place == inStride && of == at {
			if o.Name == a.Name {
				index = count
			}
			said = append(said, size)
			count++
		}
	}
	name, tensor := "in_"+b.inputs[0].Name, b.inputs[0]
	if at >= 0 {
		name = b.pythonValue(b.Args[at])
		if role := b.Args[at].Role; role == Input || role == Output {
			tensor = b.tensor(b.Args[at])
		}
	}
	if _, values := b.shapedBy(tensor); values != nil { // all of which have as many sizes
		tensor.Shape = values[slices.Sorted(maps.Keys(values))[0]]
	}
	rank := strings.Count(b.pythonShape(tensor, true), ",")
	switch {
	case count > rank:
		return "", b.errorf("it has %d strides for %s, which has %d sizes here: add a function "+
			"that launches the kernel", count, tensor.Name, rank)
	case count == 1 && rank > 1:
		index = rank - 2
	case b.inOtherOrder(said, tensor):
		index = slices.Index(b.seenSizes(tensor), said[index])
	default:
		index += rank - count
	}
	return fmt.Sprintf("%s.stride(%d)", name, index), nil
}

// strideName returns the parameter whose tensor the name of a stride denotes, -1 for none, and the size named
// after it, "" for none: stride_ak denotes the tensor a and the size k.
func (b *Binding) strideName(p Param) (at int, size string) {
	word := strings.Trim(strings.ReplaceAll(isStride.ReplaceAllString(snake(p.Name), ""), "__", "_"), "_")
	at, longest := -1, 0
	for i, o := range b.Args {
		plain := strings.TrimSuffix(strings.TrimSuffix(snake(o.Name), "_ptr"), "_pointer")
		if o.Pointer && strings.HasPrefix(word, plain) && len(plain) > longest {
			at, longest = i, len(plain)
		}
	}
	if at < 0 {
		return at, ""
	}
	rest, best := strings.Trim(word[longest:], "_"), 0
	for _, o := range b.Args { // the kernel's own size takes precedence over a common name
		if o.Role == Size && rest != "" && snake(o.Name) == rest && len(dimsOf(o.Target)) == 1 {
			return at, o.Target
		}
	}
	for _, d := range b.Spec.Dims {
		if s := score(b.Spec, b.Pass, rest, d.Name); rest != "" && s > best {
			size, best = d.Name, s
		}
	}
	return at, size
}

// seenSizes returns the sizes of a tensor that a kernel receives.
func (b *Binding) seenSizes(t op.TensorSpec) (names []string) {
	for _, size := range b.shape(t) {
		if name, _ := size.(string); !b.hides(name) {
			names = append(names, name)
		}
	}
	return names
}

// inOtherOrder reports whether the sizes that strides name are the last ones of a tensor, each once, in
// another order.
func (b *Binding) inOtherOrder(said []string, t op.TensorSpec) bool {
	sizes := b.seenSizes(t)
	sizes = sizes[max(len(sizes)-len(said), 0):]
	return !slices.Equal(said, sizes) &&
		slices.Equal(slices.Sorted(slices.Values(said)), slices.Sorted(slices.Values(sizes)))
}
