package kernelfile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"triad/internal/ownfile/layout"
)

// inputAt and outputAt return the C++ of a tensor of the call.
func (b *Binding) inputAt(name string) string {
	return fmt.Sprintf("triad_own::in(triad_own_call, %d)", named(b.inputs, name))
}

func (b *Binding) outputAt(name string) string {
	return fmt.Sprintf("triad_own::out(triad_own_call, %d)", named(b.outputs, name))
}

// tensorAt returns the C++ of the tensor that an argument stands for.
func (b *Binding) tensorAt(a Argument) string {
	if a.Role == Output {
		return b.outputAt(a.Target)
	}
	return b.inputAt(a.Target)
}

// checked returns a step of the shim that may fail.
func checked(code string) string {
	return "\tif (const int triad_own_status = " + code + ") return triad_own_status;\n"
}

// adaptersCode converts, before or after a call, the tensors whose types differ from the operator's.
func (b *Binding) adaptersCode(args []Argument, after bool) string {
	code := ""
	for i, a := range args {
		if a.Adapter == layout.Narrow && after == (a.Role == Output) {
			code += b.narrowCode(a, i)
		}
	}
	return code
}

// fillRooms fills the scratch memory that must hold something before a call, in its own type. The call says
// what it holds, since interpretations differ in it. Zeros are the same in each type.
func (b *Binding) fillRooms() string {
	var code strings.Builder
	for _, c := range b.byMain() {
		var fills strings.Builder
		for i, a := range b.Args {
			if a.Adapter != layout.Scratch {
				continue
			}
			base := strings.Replace(a.Instantiate(c.types).Base, "void", "char", 1)
			lowest := b.numberCode(func(*evaluation) int64 {
				return int64(slices.Index([]string{"", layout.FillLowest}, a.Fill))
			})
			fmt.Fprintf(&fills, "\t\ttriad_own::fill(triad_own_call, %s, %s / sizeof(%s), %s);\n",
				b.placeCode(base, a, i), b.roomCode(a), base, lowest)
		}
		if fills.Len() > 0 {
			fmt.Fprintf(&code, "\tif (triad_own::dtype(triad_own_call) == %s) {\n%s\t}\n", abiNames[c.Main],
				fills.String())
		}
	}
	return code.String()
}

// scaleCode multiplies by the factor and adds the addend that the function lacks.
func (b *Binding) scaleCode() string {
	var code strings.Builder
	if len(b.unscaled) > 0 {
		y := b.outputAt(b.required1())
		factor, weight, bias := map[bool]string{false: "1.0f", true: "0.5f"}[b.doubled], "nullptr", "nullptr"
		for _, name := range b.unscaled {
			data := "static_cast<const float *>(" + b.inputAt(name) + ".data)"
			if name == b.Spec.Own.Factor {
				weight = data
			} else {
				bias = data
			}
		}
		fmt.Fprintf(&code, "\ttriad_own::scale_and_add<<<triad_own::blocks(triad::elements(%[1]s)), 256, 0, "+
			"triad::stream_of(triad_own_call)>>>(static_cast<float *>(%[1]s.data), %[2]s, %[3]s, %[4]s, "+
			"static_cast<size_t>(triad::elements(%[1]s)), static_cast<size_t>(%[1]s.shape[1]));\n",
			y, factor, weight, bias)
	}
	return code.String()
}

// required1 returns the name of the first required output.
func (b *Binding) required1() string { return b.outputs[b.required()[0]].Name }

// second returns the arguments of the second call, if a function of one tensor is called for each of a pair.
func (b *Binding) second() []Argument {
	others := map[string]string{}
	for name, of := range b.Spec.Own.Each {
		others[of] = name
	}
	args := slices.Clone(b.Args)
	for i := range args {
		a := &args[i]
		a.Target, a.Over = cmp.Or(others[a.Target], a.Target), cmp.Or(others[a.Over], a.Over)
		switch a.Role {
		case Input:
			a.Index = named(b.inputs, a.Target)
		case Output:
			a.Index = named(b.outputs, a.Target)
		}
	}
	return args
}

// swappedShape returns in words the shape of a tensor with its second and third size exchanged.
func (b *Binding) swappedShape(a Argument) string {
	return shapeWords(exchangedSizes(b.shape(b.tensor(a)), false))
}

// adapterSentences returns how a function is called if its tensors are not laid out as the operator's.
func (b *Binding) adapterSentences() []string {
	var all []string
	for _, a := range b.Args {
		if sentence := b.layoutSentence(a); sentence != "" {
			all = append(all, sentence)
		}
	}
	all = append(all, b.convertedSentences()...)
	if b.each {
		all = append(all, b.Function.Name+" takes one tensor: it is called once for "+
			strings.Join(slices.Sorted(maps.Values(b.Spec.Own.Each)), ", ")+" and once for "+
			strings.Join(slices.Sorted(maps.Keys(b.Spec.Own.Each)), ", "))
	}
	if len(b.unscaled) > 0 {
		with := ""
		if b.doubled {
			with = ", which is called with a factor of 2"
		}
		all = append(all,
			fmt.Sprintf("%s has no tensor for %s: triad applies %s to what it gives%s, and that "+
				"is timed", b.Function.Name, strings.Join(b.unscaled, " and "),
				map[bool]string{true: "it", false: "them"}[len(b.unscaled) == 1], with))
	}
	return all
}

// takeHostArrays finds the tensors that a function takes as pointers to host memory, to read and write.
func (b *Binding) takeHostArrays() {
	if b.extension || b.each {
		return
	}
	names := b.file.HostArrays(b.Function)
	for i := range b.Args {
		a := &b.Args[i]
		tensor := a.Role == Input || a.Role == Output
		if tensor && a.Pointer && !a.TorchTensor && slices.Contains(names, a.Name) {
			a.Host = true
		}
	}
}

// hostName returns the variable of the shim that points to the host's copy of the argument at a place.
func hostName(at int) string { return fmt.Sprintf("triad_own_host_%d", at) }

// hostBefore gives a function of host arrays copies of its inputs, and of its outputs as they are.
func (b *Binding) hostBefore(args []Argument) string {
	code := ""
	for i, a := range args {
		if a.Host {
			code += fmt.Sprintf("\tvoid *%[1]s = triad_own::to_host(%[2]s, %[3]s);\n"+
				"\tif (%[1]s == nullptr) return 2;\n", hostName(i), b.placeCode("void", a, i), b.roomCode(a))
		}
	}
	return code
}

// hostAfter copies back what the function wrote.
func (b *Binding) hostAfter(args []Argument) string {
	code := ""
	for i, a := range args {
		if a.Host {
			code += checked(fmt.Sprintf("triad_own::from_host(%s, %s, %s, %t)", hostName(i),
				b.placeCode("void", a, i), b.roomCode(a), a.Role == Output))
		}
	}
	return code
}
