package shim

import (
	"fmt"
	"strings"

	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/extents"
	"triad/internal/ownfile/layout"
	"triad/internal/ownfile/params"
)

// extensionCall calls a function that takes and returns torch::Tensor. An exception, such as that of a failed
// TORCH_CHECK, declines the call. again means that it is the second of two calls, for other outputs.
func extensionCall(b *binding.Binding, c binding.Instance, args []string, again bool) string {
	tensors := ""
	for i, a := range b.Args {
		if a.TorchTensor &&
			(a.Role == binding.Input || a.Role == binding.Output) { // a reference takes no temporary
			name := fmt.Sprintf("triad_own_tensor_%d", i)
			tensors += fmt.Sprintf("\t\t::at::Tensor %s = %s;\n", name, args[i])
			args[i] = name
		}
	}
	call := fmt.Sprintf("%s(%s)", c.Call, strings.Join(args, ", "))
	if b.Function.ReturnsTensors {
		at := fmt.Sprint(returnedOutputs(b, again))
		call = fmt.Sprintf("triad_own::store(triad_own_call, {%s}, %s)",
			strings.Join(strings.Fields(strings.Trim(at, "[]")), ", "), call)
	}
	return "\t\t{\n" + tensors +
		"\t\t::c10::cuda::stream_of_the_call() = triad::stream_of(triad_own_call);\n" +
		"\t\ttry {\n\t\t\t" + call + ";\n\t\t} catch (const std::exception &e) {\n" +
		"\t\t\tstd::fprintf(stderr, \"%s\\n\", e.what());\n\t\t\treturn TRIAD_UNSUPPORTED;\n\t\t}\n\t\t}\n"
}

// returnedOutputs returns for each value that an extension returns the output that it is.
func returnedOutputs(b *binding.Binding, again bool) (at []int) {
	for i, t := range b.OutputSpecs {
		if IsReturned(b, t) && b.Without[t.Name] == again {
			at = append(at, i)
		}
	}
	return at
}

// extensionTensor returns the C++ of a tensor that is passed to an extension.
func extensionTensor(b *binding.Binding, a binding.Argument, of string) string {
	if without, sure := params.LeavesOutFirst(b); without && sure {
		first, _ := extents.Shape(b, b.InputSpecs[0])[0].(string)
		sizes := extents.Shape(b, b.Tensor(a))
		if _, dim, _ := params.MostAsked(&b.Function, a.Name); params.BeginsWith(sizes, first) &&
			dim != len(sizes) {
			return fmt.Sprintf("triad_own::without_first(triad_own::tensor(%s))", of)
		}
	}
	return fmt.Sprintf("triad_own::tensor(%s)", of)
}

// addTotals adds up what the blocks wrote.
func addTotals(b *binding.Binding, args []binding.Argument) string {
	code := ""
	for i, a := range args {
		if a.Adapter != layout.BlockTotals {
			continue
		}
		types := b.Cases[0].Types
		code += fmt.Sprintf("\ttriad_own::add_up<<<1, 256, 0, triad::stream_of(triad_own_call)>>>(\n"+
			"\t\tstatic_cast<float *>(%s.data), %s, static_cast<size_t>(%s));\n", tensorAt(b, a),
			placeCode(b, "const "+a.Instantiate(types).Base, a, i), numberCode(b, blocksOf))
	}
	return code
}

// returnedCall stores the return value of a call in its output.
func returnedCall(b *binding.Binding, call string) string {
	if b.Returned == "" {
		return call
	}
	return fmt.Sprintf("triad_own::give(%s, %s)", outputAt(b, b.Returned), call)
}
