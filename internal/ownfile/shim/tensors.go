package shim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"triad/internal/ownfile/adapters"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/layout"
	"triad/internal/ownfile/params"
)

// wholeCode converts, before or after a call, the tensors of a function of ints: all that it reads, and after
// the call also what it wrote.
func wholeCode(b *binding.Binding, args []binding.Argument, after bool) string {
	var code strings.Builder
	if !b.Whole {
		return ""
	}
	done := map[string]bool{}
	types := "int32_t, float"
	if after {
		types = "float, int32_t"
	}
	for i, a := range args {
		tensor := tensorAt(b, a)
		written := a.Role == binding.Output && (after || a.Over != "") && a.Adapter != layout.BlockTotals
		if a.Role != binding.Input && !written || done[tensor] {
			continue
		}
		done[tensor] = true
		elements := numberCode(b, func(e *binding.Evaluation) int64 { return typeOf(e, a).Elements() })
		fmt.Fprintf(&code, "\ttriad_own::in_its_place<%[1]s><<<triad_own::blocks(%[3]s), 256, 0, "+
			"triad::stream_of(triad_own_call)>>>(\n\t\t%[2]s, static_cast<size_t>(%[3]s));\n", types,
			placeCode(b, "void", a, i), elements)
	}
	return code.String()
}

// inputAt and outputAt return the C++ of a tensor of the call.
func inputAt(b *binding.Binding, name string) string {
	return fmt.Sprintf("triad_own::in(triad_own_call, %d)", binding.Named(b.InputSpecs, name))
}

func outputAt(b *binding.Binding, name string) string {
	return fmt.Sprintf("triad_own::out(triad_own_call, %d)", binding.Named(b.OutputSpecs, name))
}

// tensorAt returns the C++ of the tensor that an argument stands for.
func tensorAt(b *binding.Binding, a binding.Argument) string {
	if a.Role == binding.Output {
		return outputAt(b, a.Target)
	}
	return inputAt(b, a.Target)
}

// checked returns a step of the shim that may fail.
func checked(code string) string {
	return "\tif (const int triad_own_status = " + code + ") return triad_own_status;\n"
}

// adaptersCode converts, before or after a call, the tensors whose types differ from the operator's.
func adaptersCode(b *binding.Binding, args []binding.Argument, after bool) string {
	code := ""
	for i, a := range args {
		if a.Adapter == layout.Narrow && after == (a.Role == binding.Output) {
			code += narrowCode(b, a, i)
		}
	}
	return code
}

// fillRooms fills the scratch memory that must hold something before a call, in its own type. The call says
// what it holds, since interpretations differ in it. Zeros are the same in each type.
func fillRooms(b *binding.Binding) string {
	var code strings.Builder
	for _, c := range byMain(b) {
		var fills strings.Builder
		for i, a := range b.Args {
			if a.Adapter != layout.Scratch {
				continue
			}
			base := strings.Replace(a.Instantiate(c.Types).Base, "void", "char", 1)
			lowest := numberCode(b, func(*binding.Evaluation) int64 {
				return int64(slices.Index([]string{"", layout.FillLowest}, a.Fill))
			})
			fmt.Fprintf(&fills, "\t\ttriad_own::fill(triad_own_call, %s, %s / sizeof(%s), %s);\n",
				placeCode(b, base, a, i), roomCode(b, a), base, lowest)
		}
		if fills.Len() > 0 {
			fmt.Fprintf(&code, "\tif (triad_own::dtype(triad_own_call) == %s) {\n%s\t}\n",
				binding.AbiNames[c.Main], fills.String())
		}
	}
	return code.String()
}

// scaleCode multiplies by the factor and adds the addend that the function lacks.
func scaleCode(b *binding.Binding) string {
	var code strings.Builder
	if len(b.Unscaled) > 0 {
		y := outputAt(b, required1(b))
		factor, weight, bias := map[bool]string{false: "1.0f", true: "0.5f"}[b.Doubled], "nullptr", "nullptr"
		for _, name := range b.Unscaled {
			data := "static_cast<const float *>(" + inputAt(b, name) + ".data)"
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
func required1(b *binding.Binding) string { return b.OutputSpecs[b.Required()[0]].Name }

// second returns the arguments of the second call, if a function of one tensor is called for each of a pair.
func second(b *binding.Binding) []binding.Argument {
	others := map[string]string{}
	for name, of := range b.Spec.Own.Each {
		others[of] = name
	}
	args := slices.Clone(b.Args)
	for i := range args {
		a := &args[i]
		a.Target, a.Over = cmp.Or(others[a.Target], a.Target), cmp.Or(others[a.Over], a.Over)
		switch a.Role {
		case binding.Input:
			a.Index = binding.Named(b.InputSpecs, a.Target)
		case binding.Output:
			a.Index = binding.Named(b.OutputSpecs, a.Target)
		}
	}
	return args
}

// adapterSentences returns how a function is called if its tensors are not laid out as the operator's.
func adapterSentences(b *binding.Binding) []string {
	var all []string
	for _, a := range b.Args {
		if sentence := params.LayoutSentence(b, a); sentence != "" {
			all = append(all, sentence)
		}
	}
	all = append(all, adapters.ConvertedSentences(b)...)
	if b.Each {
		all = append(all, b.Function.Name+" takes one tensor: it is called once for "+
			strings.Join(slices.Sorted(maps.Values(b.Spec.Own.Each)), ", ")+" and once for "+
			strings.Join(slices.Sorted(maps.Keys(b.Spec.Own.Each)), ", "))
	}
	if len(b.Unscaled) > 0 {
		with := ""
		if b.Doubled {
			with = ", which is called with a factor of 2"
		}
		all = append(all,
			fmt.Sprintf("%s has no tensor for %s: triad applies %s to what it gives%s, and that "+
				"is timed", b.Function.Name, strings.Join(b.Unscaled, " and "),
				map[bool]string{true: "it", false: "them"}[len(b.Unscaled) == 1], with))
	}
	return all
}

// hostName returns the variable of the shim that points to the host's copy of the argument at a place.
func hostName(at int) string { return fmt.Sprintf("triad_own_host_%d", at) }

// hostBefore gives a function of host arrays copies of its inputs, and of its outputs as they are.
func hostBefore(b *binding.Binding, args []binding.Argument) string {
	code := ""
	for i, a := range args {
		if a.Host {
			code += fmt.Sprintf("\tvoid *%[1]s = triad_own::to_host(%[2]s, %[3]s);\n"+
				"\tif (%[1]s == nullptr) return 2;\n", hostName(i), placeCode(b, "void", a, i),
				roomCode(b, a))
		}
	}
	return code
}

// hostAfter copies back what the function wrote.
func hostAfter(b *binding.Binding, args []binding.Argument) string {
	code := ""
	for i, a := range args {
		if a.Host {
			code += checked(fmt.Sprintf("triad_own::from_host(%s, %s, %s, %t)", hostName(i),
				placeCode(b, "void", a, i), roomCode(b, a), a.Role == binding.Output))
		}
	}
	return code
}
