package shim

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/adapters"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/extents"
	"triad/internal/ownfile/launches"
	"triad/internal/ownfile/layout"
)

// CUDAShim writes the file that calls the functions: include is the user's file as the shim includes it, name
// the variant they are registered under. The differences between interpretations of a function are passed at
// run time (Words), so that one library serves them all. All our own code but the calls themselves stands
// before the include, where the user's macros cannot reach it.
func CUDAShim(include, name string, bindings []*binding.Binding) string {
	var head, tail strings.Builder
	head.WriteString("// Written by triad to call the functions of the file that it includes below.\n" +
		"#include \"own_call.cuh\"\n")
	var kernels, headers []string
	for i, b := range bindings {
		launch := launchCode(b, i)
		for name, used := range map[string]bool{
			"own_adapters": adaptersUsed.MatchString(launch), "own_extension": b.Extension,
			"own_asserts": b.Asserts,
		} {
			if line := "#include \"" + name + ".cuh\"\n"; used && !slices.Contains(headers, line) {
				headers = append(headers, line)
			}
		}
		tail.WriteString(launch)
		for _, contract := range contracts(b) {
			kernels = append(kernels, fmt.Sprintf("triad_own::kernel_of(%q, %q, %q, /*contract*/ %q, "+
				"/*dtypes*/ %s, /*outputs*/ %du, /*nondeterministic*/ %du, triad_own::accepts_%d, "+
				"triad_own_launch_%d)", b.Spec.Name, name, b.Pass.String(), contract.name,
				strings.Join(contract.bits, " | "), outputBits(b), varyingBits(b), i, i))
		}
		tail.WriteString("\n")
	}
	slices.Sort(headers)
	slices.Reverse(headers) // an assert of the others is their own
	head.WriteString(strings.Join(headers, "") + "\nnamespace triad_own {\n\n")
	for i, b := range bindings {
		head.WriteString(acceptCode(b, i))
	}
	head.WriteString("} // namespace triad_own\n\n")
	// code meant only for an editor stands under #ifndef __CUDACC__
	fmt.Fprintf(&head, "#ifndef __CUDACC__\n#define __CUDACC__ 1\n#endif\n"+
		"#define main static triad_own_main_of_the_file\n#include %s\n#undef main\n%s\n",
		strconv.Quote(include), Undefined(OwnWords))
	fmt.Fprintf(&tail, "static const triad_kernel triad_own_kernels[] = {\n\t%s};\n"+
		"static const triad_kernel *triad_own_list[%d];\n"+
		"extern \"C\" __attribute__((visibility(\"default\")))\n"+
		"int triad_kernels(int32_t triad_own_abi, const triad_kernel *const **triad_own_all,\n"+
		"                  int32_t *triad_own_count) {\n"+
		"\tif (triad_own_abi != TRIAD_ABI) return TRIAD_UNSUPPORTED;\n"+
		"\tfor (*triad_own_count = 0; *triad_own_count < %[2]d; ++*triad_own_count)\n"+
		"\t\ttriad_own_list[*triad_own_count] = &triad_own_kernels[*triad_own_count];\n"+
		"\t*triad_own_all = triad_own_list;\n\treturn TRIAD_OK;\n}\n",
		strings.Join(kernels, ",\n\t"), len(kernels))
	return head.String() + tail.String()
}

// adaptersUsed matches the names that cuda/include/own_adapters.cuh defines.
var adaptersUsed = regexp.MustCompile(`triad_own::(?:fill|convert|to_host|give|add_up|` +
	`in_its_place|scale_and_add)\b`)

// OwnWords are the words behind the include that a macro of the file may have taken: members of a tensor, and
// what triad_own calls its functions. No other word there is without triad in its name.
const OwnWords = "add_up begin_watching bit blocks convert copies data dtype elements fill from_host give " +
	"in in_its_place kept kernel_of out pointer rank real scale_and_add shape " +
	"size_of_launch store stream_of tensor tensor_of to_host triad watched whole without_first"

// Undefined returns the lines that undefine words as macros of the file.
func Undefined(words string) string {
	var lines strings.Builder
	for word := range strings.FieldsSeq(words) {
		lines.WriteString("#undef " + word + "\n")
	}
	return lines.String()
}

// nothingToWrite is the size that is 1 where all outputs of a call are empty.
const nothingToWrite = "nothing_to_write"

// conditions returns the conditions on a call for the function to be judged on it, those that its signature
// cannot express.
func conditions(b *binding.Binding) []binding.Condition {
	var all []binding.Condition
	add := func(code, sentence string, values ...any) {
		all = append(all, binding.Condition{Code: code, Sentence: fmt.Sprintf(sentence, values...)})
	}
	for _, d := range b.Spec.Dims {
		if _, shown := op.ShownBy(d.Name, b.InputSpecs, b.OutputSpecs); !shown {
			continue
		}
		if d.MayBeEmpty {
			code := d.Name + " >= 1"
			if b.Launch == nil { // a host function must then launch nothing or touch no tensor
				code += " || " + nothingToWrite + " == 1"
			}
			add(code, "files added with --add are not judged where %s is 0%s", d.Name, whereEmpty(b))
		}
		if n, fixed := b.Fixed(d.Name); fixed {
			add(fmt.Sprintf("%s == %d", d.Name, n),
				"%s has no parameter for %s: it is judged with --dims %[2]s=%d", b.Function.Name, d.Name, n)
		} else if n, err := strconv.ParseInt(d.Default, 10, 64); err == nil && !b.GivesSize(d.Name) {
			add(fmt.Sprintf("%s == %d", d.Name, n),
				"%s has no parameter for %s: it is judged with %[2]s = %d", b.Function.Name, d.Name, n)
		}
	}
	for _, dims := range extents.Equal(b) {
		for _, d := range dims[1:] {
			add(dims[0]+" == "+d, "%s has one parameter for %s: it is judged where they are equal",
				b.Function.Name, strings.Join(dims, " and "))
		}
	}
	return slices.Concat(all, blockLimit(b),
		extents.SizesAre(b, b.Options.Bound,
			"it is written for one block, with %s = %d: it is judged with that alone"),
		extents.HalvedSizes(b), b.SquareUnderSwitch(),
		extents.SizesAre(b, b.AskedSizes,
			"its lines take no other than %s = %d: it is judged with that alone"))
}

// pin is the value that an attribute without a parameter must have, as an expression.
type pin struct {
	at              int
	value, sentence string
}

func pinned(b *binding.Binding) (all []pin) {
	for i, a := range b.Spec.Attributes {
		if code, value := b.AttributeValue(a); code != "" && !b.Has(binding.Attribute, a.Name) {
			all = append(all, pin{i, code, b.JudgedWith(a, value)})
		}
	}
	return all
}

// blockLimit returns the condition that the block of the file's own launch, in sizes of the operator, is
// possible.
func blockLimit(b *binding.Binding) []binding.Condition {
	l := b.Launch
	if l == nil || b.Options.Block != "" && b.Options.Said == nil ||
		!slices.ContainsFunc(binding.DimNames(b.Spec), func(dim string) bool {
			return launches.Uses((&binding.Launch{Block: l.Block, Shared: "0"}), dim)
		}) {
		return nil
	}
	return []binding.Condition{{
		Code: fmt.Sprintf("%s <= %d", launches.Product(l.Block), launches.MaxThreads),
		Sentence: fmt.Sprintf("%s is launched with block (%s): a block has %d threads at most",
			b.Function.Name, binding.Sizes(l.Block), launches.MaxThreads),
	}}
}

func whereEmpty(b *binding.Binding) string {
	if b.Launch != nil {
		return ": a lone kernel has no block to be launched with"
	}
	return " and something must be written"
}

// wantsAligned finds what may read several elements at once, or hand a tensor to what does: such types,
// pointers turned into others, tensor cores, asynchronous copies, assembler, libraries.
var wantsAligned = regexp.MustCompile(`\b(u?(char|short|int|long|longlong)|float|double|half|__half|` +
	`__nv_bfloat16)[248]\b|int128|reinterpret_cast|align|wmma|_async|\basm\b|cu(te|tlass|blas|dnn)|` +
	`\b(cub|thrust)::|\( ?([a-eg-uw-z_]|f[^l]|v[^o])\w*( \w+)? ?\* ?\)`)

// asksAddress matches a remainder of an address: such a file chooses by the alignment of a tensor.
var asksAddress = regexp.MustCompile(`\bu?intptr_t\b[^;{}]{0,60}[%&]`)

// acceptCode declines calls that the signature of the function cannot express, and that Words cannot see.
func acceptCode(b *binding.Binding, n int) string {
	var code strings.Builder
	fmt.Fprintf(&code, "int accepts_%d(const triad_call *triad_own_call, char *why, int32_t why_bytes) {\n"+
		"\ttriad::Check check(why, why_bytes);\n"+
		"\tif (!check.counts(triad_own_call, %d, %d, %d)) return check.status();\n"+
		"\tcheck.that(has_words(triad_own_call), \"%%s\", "+
		"\"the call does not say how the function is called\");\n", n, len(b.InputSpecs), len(b.OutputSpecs),
		len(b.Spec.Attributes))
	for i, tensor := range b.InputSpecs {
		if wantsAligned.MatchString(b.File.Words) && !asksAddress.MatchString(b.File.Words) {
			fmt.Fprintf(&code, "\tif (takes(triad_own_call, %d)) "+
				"check.aligned(in(triad_own_call, %[1]d), %q, 16);\n", i, tensor.Name)
		}
	}
	code.WriteString("\treturn check.status();\n}\n\n")
	return code.String()
}

// byMain lists the instances, one for each dtype of the first input.
func byMain(b *binding.Binding) []binding.Instance {
	var list []binding.Instance
	for _, c := range b.Cases {
		if !slices.ContainsFunc(list, func(x binding.Instance) bool { return x.Main == c.Main }) {
			list = append(list, c)
		}
	}
	return list
}

// launchCode calls the function with the arguments of the call.
func launchCode(b *binding.Binding, n int) string {
	b.Plan = &binding.Plan{}
	var code strings.Builder
	fmt.Fprintf(&code, "static int triad_own_launch_%d(const triad_call *triad_own_call) {\n"+
		"\tconst triad::triad_scope triad_own_scope(triad::stream_of(triad_own_call));\n", n)
	calls := [][]binding.Argument{b.Args}
	if b.Each {
		calls = append(calls, second(b))
	}
	for i, args := range calls {
		code.WriteString(
			copiesCode(b, func(e *binding.Evaluation) []binding.Copied { return before(e, args) }) +
				adaptersCode(b, args, false) + wholeCode(b, args, false) + hostBefore(b, args) +
				fillRooms(b) + callCode(b, args, i > 0) + hostAfter(b, args) + wholeCode(b, args, true) +
				adaptersCode(b, args, true) + addTotals(b, args) +
				copiesCode(b, func(e *binding.Evaluation) []binding.Copied { return after(e, args) }))
	}
	code.WriteString(scaleCode(b))
	code.WriteString("\treturn triad::watched();\n}\n")
	return code.String()
}

// callCode calls the function once, in the dtype of the call; again says that it is the second of two calls,
// for other tensors.
func callCode(b *binding.Binding, arguments []binding.Argument, again bool) string {
	var code strings.Builder
	code.WriteString(launches.SharedOfMain(b) + "\ttriad::begin_watching();\n" +
		"\tswitch (triad_own::dtype(triad_own_call)) {\n")
	for _, c := range byMain(b) {
		var args []string
		fmt.Fprintf(&code, "\tcase %s:\n", binding.AbiNames[c.Main])
		for i, a := range arguments {
			code := argumentCode(b, a, i, c)
			if changes(a.Param) {
				code = fmt.Sprintf("triad_own::kept<%d>(%s)", i, code)
			}
			args = append(args, code)
		}
		if b.Extension && b.Launch == nil {
			code.WriteString(extensionCall(b, c, args, again))
		} else if b.Launch == nil {
			code.WriteString(adapters.HostCall(b, returnedCall(b, fmt.Sprintf("%s(%s)", c.Call,
				strings.Join(args, ", ")))))
		} else {
			form := "\t\t%s<<<%s>>>(%s);\n"
			if cfacts.HasTexts(b.Function.Body, "this_grid") { // its blocks wait for each other
				form = "\t\ttriad_own::cooperative(%s, %s, %s);\n"
			}
			fmt.Fprintf(&code, form, c.Call, fmt.Sprintf("dim3(%s), dim3(%s), static_cast<size_t>(%s), "+
				"triad::stream_of(triad_own_call)", dim3Code(b, b.Launch.Grid), dim3Code(b, b.Launch.Block),
				sizeCode(b, b.Launch.Shared)), strings.Join(args, ", "))
		}
		code.WriteString("\t\tbreak;\n")
	}
	code.WriteString("\t}\n")
	return code.String()
}

// changes reports whether a parameter is a reference that the function may change: int &rows.
func changes(p cfacts.Param) bool {
	return strings.Contains(p.Text, "&") && !strings.Contains(p.Text, "&&") && !p.TorchTensor &&
		(p.Pointer || !p.Const)
}

func dim3Code(b *binding.Binding, sizes [3]string) string {
	return strings.Join(binding.EachOf(sizes[:], func(size string) string {
		return "triad_own::size_of_launch(" + sizeCode(b, size) + ")"
	}), ", ")
}

// argumentCode returns the argument at a place of the call, cast to the type of the parameter.
func argumentCode(b *binding.Binding, a binding.Argument, at int, c binding.Instance) string {
	a.Param = a.Instantiate(c.Types)
	slot := func(read string) string {
		return slotCode(b, read, func(e *binding.Evaluation) binding.Slot { return value(e, a, at) })
	}
	switch {
	case a.Host:
		return fmt.Sprintf("static_cast<%s *>(%s)", a.Base, hostName(at))
	case a.TorchTensor && (a.Role == binding.Input || a.Role == binding.Output):
		return extensionTensor(b, a, slot("tensor_of"))
	case a.Adapter != layout.AsItLies, a.Role == binding.Input, a.Role == binding.Output:
		constant := ""
		if a.Const {
			constant = "const "
		}
		return slot("pointer<" + constant + a.Base + ">")
	}
	// the same for a size, a constant and an attribute, which change places from interpretation to
	// interpretation
	number := func(read string) string {
		switch {
		case a.IsInteger():
			read = "whole"
		case a.IsFloat(), a.IsBool():
			read = "real"
		}
		return fmt.Sprintf("static_cast<%s>(%s)", a.Base, slot(read))
	}
	switch {
	case a.Role == binding.Size && a.IsShape():
		return fmt.Sprintf("{static_cast<int64_t>(%s)}", slot("whole"))
	case a.Role == binding.Size:
		return number("whole")
	case a.Role == binding.Constant && strings.ContainsAny(binding.ConstantWord(a), ".eE"):
		return number("real")
	case a.Role == binding.Constant:
		return number("whole")
	case a.Role == binding.Attribute:
		return number("real")
	case a.Role == binding.Stream && a.IsTorchStream():
		return "::at::cuda::getCurrentCUDAStream()"
	case a.Role == binding.Stream:
		return "triad::stream_of(triad_own_call)"
	}
	return "{}"
}

// contract is one registration: the contract's name and the bits of the dtypes under it.
type contract struct {
	name string
	bits []string
}

func contracts(b *binding.Binding) []contract {
	var list []contract
	for _, c := range b.Cases {
		name, bit := b.Contract(c.DType), "triad::bit("+binding.AbiNames[c.Main]+")"
		i := slices.IndexFunc(list, func(x contract) bool { return x.name == name })
		if i < 0 {
			i = len(list)
			list = append(list, contract{name: name})
		}
		list[i].bits = binding.WithNew(list[i].bits, bit)
	}
	return list
}

func outputBits(b *binding.Binding) uint32 {
	bits := uint32(0)
	for _, a := range b.Args {
		if a.Role == binding.Output {
			bits |= 1 << a.Index
		}
	}
	for i, t := range b.OutputSpecs {
		if b.LeftOut(t) || b.Without[t.Name] || b.Function.ReturnsTensors && IsReturned(b, t) {
			bits |= 1 << i
		}
	}
	return bits
}

// varyingBits returns the outputs whose last bits may differ from run to run.
func varyingBits(b *binding.Binding) uint32 {
	if b.Varies {
		return outputBits(b)
	}
	return 0
}

// Constraint returns a sentence with the cases on which the function is not judged.
func Constraint(b *binding.Binding) string {
	return strings.Join(append([]string{"contiguous tensors"}, Limits(b)...), "; ")
}

// Limits returns the sentences of Constraint that are this function's own.
func Limits(b *binding.Binding) []string {
	var all []string
	seen := map[string]bool{}
	conditions := conditions(b)
	for _, p := range pinned(b) {
		conditions = append(conditions, binding.Condition{Sentence: p.sentence})
	}
	for _, c := range conditions {
		if !strings.HasPrefix(c.Sentence, "files added") && !seen[c.Sentence] {
			seen[c.Sentence] = true
			all = append(all, c.Sentence)
		}
	}
	all = append(all, adapterSentences(b)...)
	if words := b.Accumulated(); words != "" {
		all = append(all, words)
	}
	if b.InPlace() {
		all = append(all, binding.InPlaceSentence)
	}
	for _, a := range b.Args {
		if b.ReturnsItself(a) {
			all = append(all, fmt.Sprintf("it returns %s, which it takes: it gets a copy of it for each "+
				"call, and the copy is timed", a.Name))
		}
	}
	return all
}

// narrowCode converts an input from 64 bits into the buffer that the function reads, or an output from the
// buffer that it wrote.
func narrowCode(b *binding.Binding, a binding.Argument, at int) string {
	data := tensorAt(b, a) + ".data)"
	if a.Role == binding.Output {
		return convertCode(b, a, "static_cast<int64_t *>("+data, placeCode(b, "const int32_t", a, at))
	}
	return convertCode(b, a, placeCode(b, "int32_t", a, at), "static_cast<const int64_t *>("+data)
}

func convertCode(b *binding.Binding, a binding.Argument, to, from string) string {
	return fmt.Sprintf("\ttriad_own::convert<<<triad_own::blocks(triad::elements(%[3]s)), 256, 0, "+
		"triad::stream_of(triad_own_call)>>>(\n\t\t%[1]s,\n\t\t%[2]s, "+
		"static_cast<size_t>(triad::elements(%[3]s)));\n", to, from, tensorAt(b, a))
}
