package kernelfile

import (
	"fmt"
	"strings"
)

// extensionCall calls a function that takes and returns torch::Tensor. An exception, such as that of a failed
// TORCH_CHECK, declines the call. again means that it is the second of two calls, for other outputs.
func (b *Binding) extensionCall(c Instance, args []string, again bool) string {
	tensors := ""
	for i, a := range b.Args {
		if a.TorchTensor && (a.Role == Input || a.Role == Output) { // a reference takes no temporary
			name := fmt.Sprintf("triad_own_tensor_%d", i)
			tensors += fmt.Sprintf("\t\t::at::Tensor %s = %s;\n", name, args[i])
			args[i] = name
		}
	}
	call := fmt.Sprintf("%s(%s)", c.Call, strings.Join(args, ", "))
	if b.Function.ReturnsTensors {
		at := fmt.Sprint(b.returnedOutputs(again))
		call = fmt.Sprintf("triad_own::store(triad_own_call, {%s}, %s)",
			strings.Join(strings.Fields(strings.Trim(at, "[]")), ", "), call)
	}
	return "\t\t{\n" + tensors +
		"\t\t::c10::cuda::stream_of_the_call() = triad::stream_of(triad_own_call);\n" +
		"\t\ttry {\n\t\t\t" + call + ";\n\t\t} catch (const std::exception &e) {\n" +
		"\t\t\tstd::fprintf(stderr, \"%s\\n\", e.what());\n\t\t\treturn TRIAD_UNSUPPORTED;\n\t\t}\n\t\t}\n"
}

// returnedOutputs returns for each value that an extension returns the output that it is, or -1 if it is
// none.
func (b *Binding) returnedOutputs(again bool) (at []int) {
	places, n := b.returnedOrder(), 0
	for i, t := range b.outputs {
		switch {
		case !b.isReturned(t) || b.without[t.Name] != again:
			continue
		case n >= len(places):
			at = append(at, i)
			continue
		}
		for len(at) <= places[n] {
			at = append(at, -1)
		}
		at[places[n]] = i
		n++
	}
	return at
}
