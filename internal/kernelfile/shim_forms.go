package kernelfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"triad/internal/op"
)

// formsCode are the functions of the shim for what does not lie as the operator has it.
const formsCode = `inline size_t room(size_t bytes) { return (bytes + 255) / 256 * 256; }
inline char *work(const triad_call *c, size_t at) { return static_cast<char *>(c->workspace) + at; }
inline size_t size_of(const triad_tensor &t) { return static_cast<size_t>(triad::element_bytes(t.dtype)); }
inline size_t most_elements(const triad_call *c) {
	int64_t most = 1;
	for (int i = 0; i < c->n_in; i++) most = max(most, triad::elements(c->in[i]));
	for (int i = 0; i < c->n_out; i++) most = max(most, triad::elements(c->out[i]));
	return static_cast<size_t>(most);
}
inline int copy_rows(const triad_call *c, void *to, size_t to_pitch, const void *from, size_t from_pitch,
                     size_t bytes, size_t rows) {
	if (bytes == 0 || rows == 0) return 0;
	return static_cast<int>(cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, bytes, rows,
	                                          cudaMemcpyDeviceToDevice, triad::stream_of(c)));
}
// A tensor [batch, heads, seq, dim] to or from a place with the heads of a token beside each other, and
// ` + "`wide`" + ` bytes from one token to the next.
inline int by_token(const triad_call *c, const triad_tensor &t, char *place, size_t wide, bool into) {
	const size_t heads = static_cast<size_t>(t.shape[1]), seq = static_cast<size_t>(t.shape[2]);
	const size_t row = static_cast<size_t>(t.shape[3]) * size_of(t);
	for (size_t b = 0; b < static_cast<size_t>(t.shape[0]); b++) {
		for (size_t h = 0; h < heads; h++) {
			char *lies = static_cast<char *>(t.data) + (b * heads + h) * seq * row;
			char *there = place + b * seq * wide + h * row;
			const int status = into ? copy_rows(c, there, wide, lies, row, row, seq)
			                        : copy_rows(c, lies, row, there, wide, row, seq);
			if (status != 0) return status;
		}
	}
	return 0;
}
inline size_t token_bytes(const triad_tensor &t) {
	return static_cast<size_t>(t.shape[1] * t.shape[3]) * size_of(t);
}
inline __device__ size_t thread_of_all() {
	return blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
}
inline __device__ size_t all_threads() { return static_cast<size_t>(gridDim.x) * blockDim.x; }
__global__ void fill_room(float *to, float value, size_t n) {
	for (size_t i = thread_of_all(); i < n; i += all_threads()) to[i] = value;
}
// y[r, c] * factor * weight[c] + bias[c]; without weight or bias where they are null
__global__ void scale_and_add(float *y, float factor, const float *weight, const float *bias, size_t n,
                              size_t cols) {
	for (size_t i = thread_of_all(); i < n; i += all_threads()) {
		float value = y[i] * factor;
		if (weight != nullptr) value = value * weight[i % cols];
		y[i] = bias != nullptr ? value + bias[i % cols] : value;
	}
}

`

// inputAt and outputAt are the C++ of a tensor of the call.
func (b *Binding) inputAt(name string) string {
	at := slices.IndexFunc(b.inputs, func(t op.TensorSpec) bool { return t.Name == name })
	return fmt.Sprintf("triad_own::in(triad_own_call, %d)", at)
}

func (b *Binding) outputAt(name string) string {
	at := slices.IndexFunc(b.outputs, func(t op.TensorSpec) bool { return t.Name == name })
	return fmt.Sprintf("triad_own::out(triad_own_call, %d)", at)
}

// tensorAt is the C++ of the tensor that an argument stands for.
func (b *Binding) tensorAt(a Argument) string {
	if a.Role == Output {
		return b.outputAt(a.Target)
	}
	return b.inputAt(a.Target)
}

// roomOf is how many bytes of the workspace an argument points to, in C++.
func (b *Binding) roomOf(a Argument) string {
	switch a.Form {
	case Scratch:
		code := "triad_own::most_elements(triad_own_call)"
		if own := b.Spec.Own.Scratch; own != "" {
			code = "(" + code + " + static_cast<size_t>(" + b.expressionCode(own, false) + "))"
		}
		return "8 * " + code
	case Packed:
		var parts []string
		for _, name := range b.Spec.Own.Packed {
			parts = append(parts, "triad_own::bytes_of("+b.inputAt(name)+")")
		}
		return strings.Join(parts, " + ")
	case Wide:
		return "2 * triad_own::bytes_of(" + b.tensorAt(a) + ")"
	case ByToken:
		return "triad_own::bytes_of(" + b.tensorAt(a) + ")"
	}
	return "0"
}

// workAt is where in the workspace the room of an argument begins, in C++; of "" it is the whole size.
func (b *Binding) workAt(name string) string {
	sum := "size_t(0)"
	for _, a := range b.Args {
		if a.Name == name {
			break
		}
		if a.Form != AsItLies {
			sum += " + triad_own::room(" + b.roomOf(a) + ")"
		}
	}
	return sum
}

func (b *Binding) usesWorkspace() bool {
	return slices.ContainsFunc(b.Args, func(a Argument) bool { return a.Form != AsItLies })
}

// workPointer is the pointer into the workspace that an argument is called with.
func (b *Binding) workPointer(a Argument) string {
	return "triad_own::work(triad_own_call, " + b.workAt(a.Name) + ")"
}

// checked is a step of the shim that may fail.
func checked(code string) string {
	return "\tif (const int status = " + code + ") return status;\n"
}

// formsBefore prepares what does not lie as the operator has it.
func (b *Binding) formsBefore() string {
	var code strings.Builder
	for _, a := range b.Args {
		place := b.workPointer(a)
		switch {
		case a.Form == Scratch && scratchFill(a.Name) != "":
			fmt.Fprintf(&code, "\ttriad_own::fill_room<<<64, 256, 0, triad::stream_of(triad_own_call)>>>("+
				"reinterpret_cast<float *>(%s), %s, (%s) / 4);\n", place, scratchFill(a.Name), b.roomOf(a))
		case a.Form == Packed:
			code.WriteString(b.packCode(place))
		case a.Form == Wide:
			t := b.tensorAt(a)
			for _, at := range []string{"", " + row"} {
				fmt.Fprintf(&code, "\t{\n\tconst size_t row = static_cast<size_t>(%s.shape[1]) * "+
					"triad_own::size_of(%s);\n%s\t}\n", t, t, checked(fmt.Sprintf("triad_own::copy_rows("+
					"triad_own_call, %s%s, 2 * row, %s.data, row, row, static_cast<size_t>(%s.shape[0]))",
					place, at, t, t)))
			}
		case a.Form == ByToken && a.Role == Input:
			t := b.tensorAt(a)
			code.WriteString(checked(fmt.Sprintf("triad_own::by_token(triad_own_call, %s, %s, "+
				"triad_own::token_bytes(%s), true)", t, place, t)))
		}
	}
	return code.String()
}

// packCode puts several inputs into one buffer: one after the other, or row by row.
func (b *Binding) packCode(place string) string {
	var code strings.Builder
	at, wide := "", ""
	var tensors, rows []string
	for _, name := range b.Spec.Own.Packed {
		tensors = append(tensors, b.inputAt(name))
		if b.byToken {
			rows = append(rows, "triad_own::token_bytes("+b.inputAt(name)+")")
		} else {
			rows = append(rows, "static_cast<size_t>("+b.inputAt(name)+".shape[1]) * triad_own::size_of("+
				b.inputAt(name)+")")
		}
	}
	wide = strings.Join(rows, " + ")
	for i, t := range tensors {
		to := place + at
		switch {
		case b.byToken:
			code.WriteString(checked(fmt.Sprintf("triad_own::by_token(triad_own_call, %s, %s, %s, true)",
				t, to, wide)))
			at += " + " + rows[i]
		case b.packedRows:
			code.WriteString(checked(fmt.Sprintf("triad_own::copy_rows(triad_own_call, %s, %s, %s.data, %s, "+
				"%s, static_cast<size_t>(%s.shape[0]))", to, wide, t, rows[i], rows[i], t)))
			at += " + " + rows[i]
		default:
			bytes := "triad_own::bytes_of(" + t + ")"
			code.WriteString(checked(fmt.Sprintf("triad_own::copy_rows(triad_own_call, %s, %s, %s.data, %s, "+
				"%s, 1)", to, bytes, t, bytes, bytes)))
			at += " + " + bytes
		}
	}
	return code.String()
}

// formsAfter puts what was written where the operator has it.
func (b *Binding) formsAfter() string {
	var code strings.Builder
	for _, a := range b.Args {
		if a.Form == ByToken && a.Role == Output {
			t := b.tensorAt(a)
			code.WriteString(checked(fmt.Sprintf("triad_own::by_token(triad_own_call, %s, %s, "+
				"triad_own::token_bytes(%s), false)", t, b.workPointer(a), t)))
		}
	}
	if len(b.unscaled) > 0 {
		y := b.outputAt(b.required1())
		factor, weight, bias := "1.0f", "nullptr", "nullptr"
		if b.doubled {
			factor = "0.5f"
		}
		for _, name := range b.unscaled {
			data := "static_cast<const float *>(" + b.inputAt(name) + ".data)"
			if name == b.Spec.Own.Factor {
				weight = data
			} else {
				bias = data
			}
		}
		fmt.Fprintf(&code, "\ttriad_own::scale_and_add<<<64, 256, 0, triad::stream_of(triad_own_call)>>>("+
			"static_cast<float *>(%s.data), %s, %s, %s, static_cast<size_t>(triad::elements(%s)), "+
			"static_cast<size_t>(%s.shape[1]));\n", y, factor, weight, bias, y, y)
	}
	return code.String()
}

// required1 is the name of the first required output.
func (b *Binding) required1() string { return b.outputs[b.required()[0]].Name }

// second are the arguments of the second call, where a function of one tensor is called for each of a pair.
func (b *Binding) second() []Argument {
	args := slices.Clone(b.Args)
	for i := range args {
		a := &args[i]
		for _, name := range slices.Sorted(maps.Keys(b.Spec.Own.Each)) {
			if a.Target != b.Spec.Own.Each[name] {
				if a.Over == b.Spec.Own.Each[name] {
					a.Over = name
				}
				continue
			}
			a.Target = name
			list := b.inputs
			if a.Role == Output {
				list = b.outputs
			}
			if at := slices.IndexFunc(list, func(t op.TensorSpec) bool { return t.Name == name }); at >= 0 &&
				a.Role != Size {
				a.Index = at
			}
		}
	}
	for i := range args { // in the place of an input: both names change
		a := &args[i]
		for _, name := range slices.Sorted(maps.Keys(b.Spec.Own.Each)) {
			if a.Over == b.Spec.Own.Each[name] {
				a.Over = name
			}
		}
	}
	return args
}

// formSentences say how a function is called where its tensors do not lie as the operator has them.
func (b *Binding) formSentences() []string {
	var all []string
	for _, a := range b.Args {
		switch {
		case a.Form == Scratch && scratchFill(a.Name) != "":
			what := map[string]string{"0.0f": "zeros", "-INFINITY": "-infinity"}[scratchFill(a.Name)]
			all = append(all, a.Name+" is room to work in, filled with "+what+" before each call")
		case a.Form == Scratch:
			all = append(all, a.Name+" is room to work in, which holds nothing before a call")
		case a.Form == Packed:
			how := " one after the other"
			if b.packedRows {
				how = " beside each other in each row"
			}
			all = append(all, a.Name+" holds "+strings.Join(b.Spec.Own.Packed, ", ")+how+
				": they are copied there before each call, and the copy is timed")
		case a.Form == Wide:
			all = append(
				all,
				fmt.Sprintf("%s has rows of %s: each value of %s is given twice, [values, values]",
					a.Name, b.Spec.Own.WideSize, a.Target),
			)
		case a.Form == ByToken:
			all = append(
				all,
				fmt.Sprintf("%s is [batch, seq, heads, head_dim]: %s is copied so, and the copy "+
					"is timed", a.Name, a.Target),
			)
		}
	}
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
		all = append(
			all,
			fmt.Sprintf("%s has no tensor for %s: triad applies %s to what it gives%s, and that "+
				"is timed", b.Function.Name, strings.Join(b.unscaled, " and "),
				map[bool]string{true: "it", false: "them"}[len(b.unscaled) == 1], with),
		)
	}
	return all
}
