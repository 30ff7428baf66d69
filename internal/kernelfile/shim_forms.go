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
// Room to work in: eight bytes for each element of the largest tensor, and never less than 1 MiB, as callers
// give a fixed number of partial results.
inline size_t scratch_bytes(size_t elements) {
	const size_t least = size_t(1) << 20;
	return 8 * elements > least ? 8 * elements : least;
}
template <typename T> __host__ __device__ T lowest() {
	if constexpr (std::is_integral<T>::value) {
		return std::numeric_limits<T>::min();
	} else {
		return T(-INFINITY);
	}
}
template <typename T> __global__ void fill_lowest(T *to, size_t n) {
	for (size_t i = thread_of_all(); i < n; i += all_threads()) to[i] = lowest<T>();
}
// The positions of the tokens of each sequence.
template <typename T> __global__ void fill_positions(T *to, size_t n, size_t sequence) {
	for (size_t i = thread_of_all(); i < n; i += all_threads()) {
		to[i] = static_cast<T>(sequence > 0 ? i % sequence : 0);
	}
}
template <typename To, typename From> __global__ void convert(To *to, const From *from, size_t n) {
	for (size_t i = thread_of_all(); i < n; i += all_threads()) to[i] = static_cast<To>(from[i]);
}
// A copy in the host's memory, with a pattern behind its end.
constexpr size_t behind = 4096;
inline void *to_host(const void *data, size_t bytes) {
	char *copy = static_cast<char *>(std::malloc(bytes + behind));
	if (copy == nullptr) return nullptr;
	std::memset(copy + bytes, 0xa5, behind);
	if (bytes > 0 && cudaMemcpy(copy, data, bytes, cudaMemcpyDeviceToHost) != cudaSuccess) {
		std::free(copy);
		return nullptr;
	}
	return copy;
}
inline int from_host(void *copy, void *data, size_t bytes, bool written) {
	int status = 0;
	for (size_t i = 0; i < behind; i++) {
		if (static_cast<unsigned char *>(copy)[bytes + i] != 0xa5) status = 700; // an illegal address
	}
	if (status == 0 && written && bytes > 0) {
		status = static_cast<int>(cudaMemcpy(data, copy, bytes, cudaMemcpyHostToDevice));
	}
	std::free(copy);
	return status;
}
// A number that a function returned.
template <typename T> void give(const triad_tensor &t, T value) {
	if (t.dtype == TRIAD_F32) {
		const float one = static_cast<float>(value);
		cudaMemcpy(t.data, &one, sizeof one, cudaMemcpyHostToDevice);
	} else if (t.dtype == TRIAD_I64) {
		const int64_t one = static_cast<int64_t>(value);
		cudaMemcpy(t.data, &one, sizeof one, cudaMemcpyHostToDevice);
	}
}
// by one block of 256 threads
template <typename From> __global__ void add_up(float *to, const From *values, size_t n) {
	__shared__ double sums[256];
	double sum = 0;
	for (size_t i = threadIdx.x; i < n; i += 256) sum += static_cast<double>(values[i]);
	sums[threadIdx.x] = sum;
	__syncthreads();
	if (threadIdx.x == 0) {
		for (int i = 1; i < 256; i++) sum += sums[i];
		*to = static_cast<float>(sum);
	}
}
template <typename To, typename From> __global__ void in_its_place(void *data, size_t n) {
	static_assert(sizeof(To) == sizeof(From), "in its place");
	for (size_t i = thread_of_all(); i < n; i += all_threads()) {
		From from = static_cast<const From *>(data)[i];
		To to = static_cast<To>(from);
		static_cast<To *>(data)[i] = to;
	}
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
			code += " + static_cast<size_t>(" + b.expressionCode(own, false) + ")"
		}
		return "triad_own::scratch_bytes(" + code + ")"
	case Packed:
		var parts []string
		for _, name := range a.parts {
			parts = append(parts, "triad_own::bytes_of("+b.inputAt(name)+")")
		}
		return strings.Join(parts, " + ")
	case Wide, Pairs, Doubles:
		return "2 * triad_own::bytes_of(" + b.tensorAt(a) + ")"
	case BlockTotals:
		return b.totalsRoom()
	case Narrow:
		return "triad_own::bytes_of(" + b.tensorAt(a) + ")"
	case ByToken:
		bytes := "triad_own::bytes_of(" + b.tensorAt(a) + ")"
		for _, name := range slices.Sorted(maps.Keys(b.Spec.Own.Each)) {
			if b.each && b.Spec.Own.Each[name] == a.Target { // the second call has the same room
				other := a
				other.Target = name
				bytes += " + triad_own::bytes_of(" + b.tensorAt(other) + ")"
			}
		}
		return bytes
	}
	return "0"
}

// workBefore is how many bytes of the workspace the first n arguments take, in C++.
func (b *Binding) workBefore(n int) string {
	sum := "size_t(0)"
	for _, a := range b.Args[:n] {
		if a.Form != AsItLies {
			sum += " + triad_own::room(" + b.roomOf(a) + ")"
		}
	}
	return sum
}

func (b *Binding) usesWorkspace() bool {
	return slices.ContainsFunc(b.Args, func(a Argument) bool { return a.Form != AsItLies })
}

// workPointer is the pointer into the workspace that the argument at a place is called with.
func (b *Binding) workPointer(at int) string {
	return "triad_own::work(triad_own_call, " + b.workBefore(at) + ")"
}

// checked is a step of the shim that may fail.
func checked(code string) string {
	return "\tif (const int status = " + code + ") return status;\n"
}

// formsBefore prepares, for a call, what does not lie as the operator has it.
func (b *Binding) formsBefore(args []Argument) string {
	var code strings.Builder
	for i, a := range args {
		place := b.workPointer(i)
		t := b.tensorAt(a)
		switch {
		case a.Form == Packed:
			code.WriteString(b.packCode(a, place))
		case a.Form == Wide:
			for _, at := range []string{"", " + row"} {
				fmt.Fprintf(&code, "\t{\n\tconst size_t row = static_cast<size_t>(%s.shape[1]) * "+
					"triad_own::size_of(%s);\n%s\t}\n", t, t, checked(fmt.Sprintf("triad_own::copy_rows("+
					"triad_own_call, %s%s, 2 * row, %s.data, row, row, static_cast<size_t>(%s.shape[0]))",
					place, at, t, t)))
			}
		case a.Form == Pairs:
			for k := range 2 {
				code.WriteString(spreadCode(t, place, fmt.Sprint(k), 2))
			}
		case a.Form == Doubles:
			code.WriteString(b.doublesBefore(a, i))
		case a.Form == Narrow && a.Role == Input:
			code.WriteString(b.narrowBefore(a, place))
		case a.Form == ByToken && a.Role == Input:
			code.WriteString(checked(fmt.Sprintf("triad_own::by_token(triad_own_call, %s, %s, "+
				"triad_own::token_bytes(%s), true)", t, place, t)))
		}
	}
	return code.String()
}

// spreadCode copies the elements of a tensor to every nth place of a buffer, from the kth on.
func spreadCode(t, place, k string, n int) string {
	size := "triad_own::size_of(" + t + ")"
	return checked(
		fmt.Sprintf("triad_own::copy_rows(triad_own_call, %s + %s * %s, %d * %s, %s.data, %s, %s, "+
			"static_cast<size_t>(triad::elements(%s)))", place, k, size, n, size, t, size, size, t),
	)
}

// fillRooms fills the room to work in that is to hold something before a call, in its own type.
func (b *Binding) fillRooms() string {
	var code strings.Builder
	for _, c := range b.byMain() {
		var fills strings.Builder
		for i, a := range b.Args {
			place, bytes := b.workPointer(i), b.roomOf(a)
			base := a.instantiate(c.types).Base
			switch {
			case a.Form != Scratch || a.fill == "":
			case a.fill == fillZero:
				fills.WriteString("\t" + checked(fmt.Sprintf("static_cast<int>(cudaMemsetAsync(%s, 0, %s, "+
					"triad::stream_of(triad_own_call)))", place, bytes)))
			case a.fill == fillPositions:
				fills.WriteString(b.positionsCode(base, place, bytes))
			default:
				fmt.Fprintf(&fills,
					"\t\ttriad_own::fill_lowest<<<64, 256, 0, triad::stream_of(triad_own_call)>>>("+
						"reinterpret_cast<%s *>(%s), (%s) / sizeof(%s));\n", base, place, bytes, base)
			}
		}
		if fills.Len() > 0 {
			fmt.Fprintf(&code, "\tif (triad_own::dtype(triad_own_call) == %s) {\n%s\t}\n", abiNames[c.Main],
				fills.String())
		}
	}
	return code.String()
}

// packCode puts several inputs into one buffer: one after the other, or row by row.
func (b *Binding) packCode(a Argument, place string) string {
	var code strings.Builder
	at, wide := "", ""
	var tensors, rows []string
	for _, name := range a.parts {
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
		case a.lies == elementwise:
			code.WriteString(spreadCode(t, place, fmt.Sprint(i), len(tensors)))
		case a.lies == rowByRow:
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

// formsAfter puts what a call wrote where the operator has it.
func (b *Binding) formsAfter(args []Argument) string {
	var code strings.Builder
	for i, a := range args {
		if a.Form == ByToken && a.Role == Output {
			t := b.tensorAt(a)
			code.WriteString(checked(fmt.Sprintf("triad_own::by_token(triad_own_call, %s, %s, "+
				"triad_own::token_bytes(%s), false)", t, b.workPointer(i), t)))
		}
		if a.Form == Doubles {
			code.WriteString(b.doublesAfter(a, i))
		}
		if a.Form == Narrow && a.Role == Output {
			code.WriteString(b.narrowAfter(a, b.workPointer(i)))
		}
	}
	code.WriteString(b.addTotals(args))
	return code.String()
}

// scaleCode multiplies by the factor and adds the addend that the function does without.
func (b *Binding) scaleCode() string {
	var code strings.Builder
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

// packed says how several inputs lie in one buffer: "gate, up one after the other".
func (f formOf) packed() string {
	how := map[packing]string{
		wholeTensors: "one after the other",
		rowByRow:     "beside each other in each row", elementwise: "element by element",
		tokenwise: "one after the other in each token",
	}[f.lies]
	return strings.Join(f.parts, ", ") + " " + how
}

// swappedShape is the shape of a tensor whose second and third size have changed places, in words.
func (b *Binding) swappedShape(a Argument) string {
	return shapeWords(exchangedSizes(b.shape(b.tensor(a)), false))
}

// formSentences say how a function is called where its tensors do not lie as the operator has them.
func (b *Binding) formSentences() []string {
	var all []string
	for _, a := range b.Args {
		switch {
		case a.Form == Scratch && a.fill == fillPositions:
			all = append(all, a.Name+" gets the position of each token before each call, from 0")
		case a.Form == Scratch && a.fill != "":
			what := map[string]string{fillZero: "zeros", fillInfinity: "-infinity"}[a.fill]
			all = append(all, a.Name+" is room to work in, filled with "+what+" before each call")
		case a.Form == Scratch:
			all = append(all, a.Name+" is room to work in, which holds nothing before a call")
		case a.Form == Packed:
			all = append(all, a.Name+" holds "+a.packed()+
				": they are copied there before each call, and the copy is timed")
		case a.Form == Wide:
			all = append(all,
				fmt.Sprintf("%s has rows of %s: each value of %s is given twice, [values, values]",
					a.Name, b.Spec.Own.WideSize, a.Target))
		case a.Form == Pairs:
			all = append(all,
				fmt.Sprintf("%s has rows of %s: each value of %s is given twice, one beside the "+
					"other", a.Name, b.Spec.Own.WideSize, a.Target))
		case a.Form == ByToken:
			all = append(all, fmt.Sprintf("%s is %s: %s is copied so, and the copy is timed", a.Name,
				b.swappedShape(a), a.Target))
		case a.Form == BlockTotals:
			all = append(all, a.Name+" gets a value of each block: triad adds them up, and that is timed")
		case a.Form == Doubles:
			all = append(all, fmt.Sprintf("%s is double: %s is converted, and that is timed", a.Name,
				a.Target))
		case a.Form == Narrow:
			all = append(all, fmt.Sprintf("%s is int: %s is converted, and that is timed", a.Name, a.Target))
		}
	}
	all = slices.Concat(all, b.stackedSentences(), b.convertedSentences())
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
