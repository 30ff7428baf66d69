package kernelfile

import (
	"fmt"
	"go/scanner"
	gotoken "go/token"
	"slices"
	"strconv"
	"strings"

	"triad/internal/op"
)

// CUDAShim writes the file that calls the functions: include is the user's file as the shim includes it, name
// the variant they are registered under. All our own code but the calls themselves stands before the include,
// where the user's macros cannot reach it.
func CUDAShim(include, name string, bindings []*Binding) string {
	var head, tail strings.Builder
	head.WriteString("// Written by triad to call the functions of the file that it includes below.\n" +
		"#include \"own_call.cuh\"\n")
	extends := slices.ContainsFunc(bindings, func(b *Binding) bool { return b.extension })
	if extends {
		head.WriteString("#include \"torch/extension.h\"\n")
	}
	head.WriteString("\nnamespace triad_own {\n\n")
	if slices.ContainsFunc(bindings, func(b *Binding) bool { return len(b.formSentences()) > 0 }) {
		head.WriteString(formsCode)
	}
	if extends {
		head.WriteString(extensionCode)
	}
	for i, b := range bindings {
		head.WriteString(b.acceptCode(i))
	}
	asserts := slices.ContainsFunc(bindings, func(b *Binding) bool { return b.asserts })
	if asserts {
		head.WriteString(assertCode)
	}
	if slices.ContainsFunc(bindings, (*Binding).takesShape) {
		head.WriteString(listedCode)
	}
	head.WriteString("} // namespace triad_own\n\n")
	if asserts {
		head.WriteString("#define __assert_fail ::triad_own::assert_fails\n\n")
	}
	// what is meant for an editor alone stands under #ifndef __CUDACC__
	tail.WriteString("#ifndef __CUDACC__\n#define __CUDACC__ 1\n#endif\n")
	fmt.Fprintf(&tail, "#define main triad_own_main_of_the_file\n#include %s\n#undef main\n%s\n",
		strconv.Quote(include), undefined(ownWords))
	var kernels []string
	for i, b := range bindings {
		tail.WriteString(b.workspaceCode(i) + b.launchCode(i))
		for _, contract := range b.contracts() {
			kernels = append(kernels, fmt.Sprintf("triad_own::kernel_of(%q, %q, %q, /*contract*/ %q, "+
				"/*dtypes*/ %s, /*outputs*/ %du, /*nondeterministic*/ %du, triad_own::accepts_%d, "+
				"/*workspace*/ %s, triad_own_launch_%d, %q)", b.Spec.Name, name, b.Pass.String(),
				contract.name, strings.Join(contract.bits, " | "), b.outputBits(), b.varyingBits(), i,
				b.workspaceName(i), i, b.Constraint()))
		}
		tail.WriteString("\n")
	}
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

// ownWords are the words behind the include that a macro of the file may have taken: members of a tensor, and
// what triad_own calls its functions. No other word there is without triad in its name.
const ownWords = "add_up attribute attr begin_watching bit by_token ceildiv close convert copy_rows data " +
	"data_in data_out dtype elements factor give in in_its_place kernel_of listed max min out packed rank " +
	"room row shape size_of_launch store stream_of tensor unread watched work"

// undefined is what takes words from the macros of the file.
func undefined(words string) string {
	var lines strings.Builder
	for word := range strings.FieldsSeq(words) {
		lines.WriteString("#undef " + word + "\n")
	}
	return lines.String()
}

// dimCode is the C++ that reads a dim from a tensor of the call that has it.
func (b *Binding) dimCode(name string) string {
	shown, ok := op.ShownBy(name, b.inputs, b.outputs)
	if !ok {
		return "int64_t(0)"
	}
	code := fmt.Sprintf("triad_own::%s(triad_own_call, %d).shape[%d]",
		map[bool]string{false: "in", true: "out"}[shown.Output], shown.Tensor, shown.Axis)
	if shown.Times > 1 {
		code = fmt.Sprintf("(%s * %d)", code, shown.Times)
	}
	return code
}

// sizeCodeOf is a size that a parameter stands for: a dim, a product, or the first of several equal dims.
func (b *Binding) sizeCodeOf(target string) string {
	dims := dimsOf(target)
	if !strings.Contains(target, "*") {
		dims = dims[:1]
	}
	var parts []string
	for _, d := range dims {
		if d[0] >= '0' && d[0] <= '9' {
			parts = append(parts, "int64_t("+d+")")
			continue
		}
		parts = append(parts, b.dimCode(d))
	}
	return strings.Join(parts, " * ")
}

// condition is a test of a call in C++ or Python, and the sentence where it fails.
type condition struct{ code, sentence string }

// conditions are what a call must fulfil for the function to be judged on it: what its signature cannot
// express.
func (b *Binding) conditions() []condition {
	var all []condition
	for _, d := range b.Spec.Dims {
		code := b.dimCode(d.Name)
		if code == "int64_t(0)" {
			continue
		}
		if d.MayBeEmpty {
			all = append(all, condition{
				code + " >= 1" + b.nothingToWrite(),
				"files added with --add are not judged where " + d.Name + " is 0" + b.whereEmpty(),
			})
		}
		if n, fixed := b.fixed(d.Name); fixed {
			all = append(all, condition{
				fmt.Sprintf("%s == %d", code, n),
				fmt.Sprintf("%s has no parameter for %s: it is judged with --dims %s=%d", b.Function.Name,
					d.Name, d.Name, n),
			})
		} else if n, err := strconv.ParseInt(d.Default, 10, 64); err == nil && !b.givesSize(d.Name) {
			all = append(all, condition{
				fmt.Sprintf("%s == %d", code, n),
				fmt.Sprintf("%s has no parameter for %s: it is judged with %s = %d", b.Function.Name,
					d.Name, d.Name, n),
			})
		}
	}
	for _, dims := range b.Equal() {
		for _, d := range dims[1:] {
			all = append(all, condition{
				b.dimCode(dims[0]) + " == " + b.dimCode(d),
				fmt.Sprintf("%s has one parameter for %s: it is judged where they are equal",
					b.Function.Name, strings.Join(dims, " and ")),
			})
		}
	}
	all = slices.Concat(all, b.blockLimit(), b.boundSizes(), b.halvedSizes(), b.squareUnderSwitch(),
		b.sizesAre(b.askedSizes, "its lines take no other than %s = %d: it is judged with that alone"))
	for i, a := range b.Spec.Attributes {
		if code, value := b.attributeValue(a); code != "" && !b.has(Attribute, a.Name) {
			test := fmt.Sprintf("triad_own::close(triad_own::attribute(triad_own_call, %d), %s)", i, code)
			all = append(all, condition{test, b.judgedWith(a, value)})
		}
	}
	return all
}

// blockLimit is the condition that a block of the file's own launch, in sizes of the operator, can be.
func (b *Binding) blockLimit() []condition {
	l := b.Launch
	if l == nil || b.Options.Block != "" && b.Options.said == nil ||
		!(&Launch{Block: l.Block, Shared: "0"}).usesAny(b.Spec) {
		return nil
	}
	return []condition{{
		b.expressionCode(product(l.Block), false) + fmt.Sprintf(" <= %d", maxThreads),
		fmt.Sprintf("%s is launched with block (%s): a block has %d threads at most", b.Function.Name,
			sizes(l.Block), maxThreads),
	}}
}

// nothingToWrite is the C++ that allows a call whose outputs are all empty. A host function must then launch
// nothing or touch no tensor. A lone kernel is not called: it has no block to be launched with.
func (b *Binding) nothingToWrite() string {
	if b.Launch != nil {
		return ""
	}
	var code strings.Builder
	for i := range b.outputs {
		fmt.Fprintf(&code, " && triad_own::is_empty(triad_own_call, %d)", i)
	}
	return " || (" + strings.TrimPrefix(code.String(), " && ") + ")"
}

func (b *Binding) whereEmpty() string {
	if b.Launch != nil {
		return ": a lone kernel has no block to be launched with"
	}
	return " and something must be written"
}

// expressionCode turns an expression of a spec or a flag into C++. In a float every number and dim is a
// double.
func (b *Binding) expressionCode(text string, float bool) string {
	var s scanner.Scanner
	files := gotoken.NewFileSet()
	s.Init(files.AddFile("", files.Base(), len(text)), []byte(text), nil, 0)
	var out strings.Builder
	for {
		_, kind, word := s.Scan()
		switch {
		case kind == gotoken.EOF:
			return out.String()
		case kind == gotoken.SEMICOLON:
		case kind == gotoken.IDENT && (word == "ceildiv" || word == "min" || word == "max"):
			out.WriteString("triad_own::" + word)
		case kind == gotoken.IDENT && word == "sqrt":
			out.WriteString("std::sqrt")
		case kind == gotoken.IDENT && float:
			out.WriteString("double(" + b.dimCode(word) + ")")
		case kind == gotoken.IDENT:
			out.WriteString(b.dimCode(word))
		case kind == gotoken.INT && float:
			out.WriteString(word + ".0")
		case kind == gotoken.INT:
			out.WriteString("int64_t(" + word + ")")
		case kind == gotoken.FLOAT:
			out.WriteString(word)
		default:
			out.WriteString(" " + kind.String() + " ")
		}
	}
}

// acceptCode answers UNSUPPORTED for what the function's signature cannot express.
func (b *Binding) acceptCode(n int) string {
	var code strings.Builder
	fmt.Fprintf(&code, "int accepts_%d(const triad_call *triad_own_call, char *why, int32_t why_bytes) {\n"+
		"\ttriad::Check check(why, why_bytes);\n", n)
	fmt.Fprintf(&code, "\tif (!check.counts(triad_own_call, %d, %d, %d)) return check.status();\n",
		len(b.inputs), len(b.outputs), len(b.Spec.Attributes))
	for i, tensor := range b.inputs {
		if !b.has(Input, tensor.Name) && !b.without[tensor.Name] {
			continue
		}
		t := fmt.Sprintf("in(triad_own_call, %d), %q", i, tensor.Name)
		fmt.Fprintf(&code, "\tcheck.contiguous(%s);\n", t)
		if wantsAligned.MatchString(b.file.words) && !asksAddress.MatchString(b.file.words) {
			fmt.Fprintf(&code, "\tcheck.aligned(%s, 16);\n", t)
		}
	}
	for _, c := range b.conditions() {
		fmt.Fprintf(&code, "\tcheck.that(%s, \"%%s\", %q);\n", c.code, c.sentence)
	}
	code.WriteString("\tswitch (dtype(triad_own_call)) {\n")
	for _, group := range b.byMain() {
		fmt.Fprintf(&code, "\tcase %s:\n", abiNames[group.Main])
		for _, a := range b.Args {
			if a.Role != Input && a.Role != Output {
				continue
			}
			own := a.instantiate(group.types)
			element, any, _ := own.element()
			want, _ := tensorDType(b.tensor(a), group.DType)
			element = b.heldBy(element, want)
			if any || own.isBytes() || a.Form == Narrow || a.Form == Doubles || a.Form == BlockTotals {
				continue
			}
			side, name := "in", b.tensor(a).Name
			if a.Role == Output {
				side = "out"
			}
			fmt.Fprintf(&code, "\t\tcheck.that(%s(triad_own_call, %d).dtype == %s, \"%%s\", \"%s is %s "+
				"in %s\");\n", side, a.Index, abiNames[element], name, element, b.Function.Name)
		}
		code.WriteString("\t\tbreak;\n")
	}
	code.WriteString("\t}\n\treturn check.status();\n}\n\n")
	return code.String()
}

// byMain lists the instances, one for each dtype of the first input.
func (b *Binding) byMain() []Instance {
	var list []Instance
	for _, c := range b.Cases {
		if !slices.ContainsFunc(list, func(x Instance) bool { return x.Main == c.Main }) {
			list = append(list, c)
		}
	}
	return list
}

// launchCode calls the function with what the call gives.
func (b *Binding) launchCode(n int) string {
	var code strings.Builder
	fmt.Fprintf(&code, "static int triad_own_launch_%d(const triad_call *triad_own_call) {\n"+
		"\tconst triad::triad_scope triad_own_scope(triad::stream_of(triad_own_call));\n", n)
	calls := [][]Argument{b.Args}
	if b.each {
		calls = append(calls, b.second())
	}
	for i, args := range calls {
		code.WriteString(b.formsBefore(args) + b.beforeCode(args) + b.wholeCode(args, false) +
			b.hostBefore(args) + b.fillRooms() + b.callCode(args, i > 0) + b.hostAfter(args) +
			b.wholeCode(args, true) + b.formsAfter(args))
	}
	code.WriteString(b.scaleCode())
	code.WriteString("\treturn triad::watched();\n}\n")
	return code.String()
}

// workspaceName is the function that gives the size of the workspace, where there is one.
func (b *Binding) workspaceName(n int) string {
	if !b.usesWorkspace() {
		return "nullptr"
	}
	return fmt.Sprintf("triad_own_workspace_%d", n)
}

func (b *Binding) workspaceCode(n int) string {
	if !b.usesWorkspace() {
		return ""
	}
	return fmt.Sprintf("static int64_t triad_own_workspace_%d(const triad_call *triad_own_call) {\n"+
		"\treturn static_cast<int64_t>(%s);\n}\n", n, b.workBefore(len(b.Args)))
}

// callCode calls the function once, in the dtype of the call; again says that it is the second of two calls,
// for other tensors.
func (b *Binding) callCode(arguments []Argument, again bool) string {
	var code strings.Builder
	code.WriteString(b.sharedOfMain() + "\ttriad::begin_watching();\n" +
		"\tswitch (triad_own::dtype(triad_own_call)) {\n")
	for _, c := range b.byMain() {
		var args []string
		fmt.Fprintf(&code, "\tcase %s:\n", abiNames[c.Main])
		for i, a := range arguments {
			args = append(args, b.argumentCode(a, i, c))
		}
		if b.extension && b.Launch == nil {
			code.WriteString(b.extensionCall(c, args, again))
		} else if b.Launch == nil {
			code.WriteString(b.hostCall(b.returnedCall(fmt.Sprintf("%s(%s)", c.Call,
				strings.Join(args, ", ")))))
		} else {
			l := b.Launch
			if again {
				l = l.forOthers(b.Spec.Own.Each)
			}
			fmt.Fprintf(&code, "\t\t%s<<<dim3(%s), dim3(%s), static_cast<size_t>(%s), "+
				"triad::stream_of(triad_own_call)>>>(%s);\n", c.Call,
				b.dim3Code(l.Grid), b.dim3Code(l.Block), b.expressionCode(l.Shared, false),
				strings.Join(args, ", "))
		}
		code.WriteString("\t\tbreak;\n")
	}
	code.WriteString("\t}\n")
	return code.String()
}

func (b *Binding) dim3Code(sizes [3]string) string {
	var parts []string
	for _, s := range sizes {
		parts = append(parts, "triad_own::size_of_launch("+b.expressionCode(s, false)+")")
	}
	return strings.Join(parts, ", ")
}

// argumentCode is the argument at a place of the call, cast to the type of the parameter.
func (b *Binding) argumentCode(a Argument, at int, c Instance) string {
	a.Param = a.instantiate(c.types)
	pointer := func(side string) string {
		constant := ""
		if a.Const {
			constant = "const "
		}
		return fmt.Sprintf("static_cast<%s%s *>(triad_own::data_%s(triad_own_call, %d))", constant, a.Base,
			side, a.Index)
	}
	switch {
	case a.host:
		return fmt.Sprintf("static_cast<%s *>(%s)", a.Base, hostName(at))
	case a.tensor && a.Form == Packed:
		return b.packedTensorCode(a, at)
	case a.tensor && a.Role == Input:
		return b.extensionTensor(a, fmt.Sprintf("triad_own::in(triad_own_call, %d)", a.Index))
	case a.tensor && a.Role == Output:
		return b.extensionTensor(a, fmt.Sprintf("triad_own::out(triad_own_call, %d)", a.Index))
	case a.Form == Doubles:
		return fmt.Sprintf("static_cast<double *>(%s)", doublesName(at))
	case a.Form != AsItLies:
		return fmt.Sprintf("reinterpret_cast<%s *>(%s)", a.Base, b.workPointer(at))
	}
	switch a.Role {
	case Input:
		return pointer("in")
	case Output:
		return pointer("out")
	case Size:
		if a.Pointer {
			return b.shapeCode(a, at)
		}
		if a.isShape() {
			return fmt.Sprintf("{static_cast<int64_t>(%s)}", b.sizeCodeOf(a.Target))
		}
		if a.Share > 0 {
			return fmt.Sprintf("static_cast<%s>(triad_own::factor(%s, %d))", a.Base, b.sizeCodeOf(a.Target),
				a.Share)
		}
		return fmt.Sprintf("static_cast<%s>(%s)", a.Base, b.sizeCodeOf(a.Target))
	case Constant:
		return b.constantCode(a, c)
	case Attribute:
		return fmt.Sprintf("static_cast<%s>(triad_own::attribute(triad_own_call, %d))", a.Base, a.Index)
	case Stream:
		if a.isTorchStream() {
			return "::at::cuda::getCurrentCUDAStream()"
		}
		return "triad::stream_of(triad_own_call)"
	}
	return "{}"
}

// constantCode is the C++ of what is passed for a constant.
func (b *Binding) constantCode(a Argument, c Instance) string {
	switch code := a.codes[c.Main]; {
	case a.unread:
		return fmt.Sprintf("triad_own::unread<%s>()", a.Base)
	case a.sides[0] != "":
		return b.sidesCode(a)
	case code != "":
		return fmt.Sprintf("static_cast<%s>(%s)", a.Base, code)
	}
	return fmt.Sprintf("static_cast<%s>(%s)", a.Base, constantWord(a))
}

// contract is one registration: the contract's name and the bits of the dtypes under it.
type contract struct {
	name string
	bits []string
}

func (b *Binding) contracts() []contract {
	var list []contract
	for _, c := range b.Cases {
		name, bit := b.contract(c.DType), "triad::bit("+abiNames[c.Main]+")"
		i := slices.IndexFunc(list, func(x contract) bool { return x.name == name })
		if i < 0 {
			i = len(list)
			list = append(list, contract{name: name})
		}
		if !slices.Contains(list[i].bits, bit) {
			list[i].bits = append(list[i].bits, bit)
		}
	}
	return list
}

func (b *Binding) outputBits() uint32 {
	bits := uint32(0)
	for _, a := range b.Args {
		if a.Role == Output {
			bits |= 1 << a.Index
		}
	}
	for i, t := range b.outputs {
		if b.leftOut(t) || b.without[t.Name] || b.Function.returns && b.isReturned(t) {
			bits |= 1 << i
		}
	}
	return bits
}

// varyingBits are the outputs whose last bits may differ from run to run.
func (b *Binding) varyingBits() uint32 {
	if b.varies {
		return b.outputBits()
	}
	return 0
}

// Constraint says in one sentence what the function is not judged on.
func (b *Binding) Constraint() string {
	return strings.Join(append([]string{"contiguous tensors"}, b.limits()...), "; ")
}
