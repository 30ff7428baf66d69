package binding

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/layout"
)

// TakeFP32 takes the tensors of an exercise in Python, a solve with sizes as well as tensors, for fp32, where
// neither its lines nor the user name a dtype: its author's tensors have no other.
func (b *Binding) TakeFP32(file *cfacts.File) {
	said := len(b.Asked) > 0 || len(b.Options.DTypes) > 0
	b.away = roundsUp.MatchString(cfacts.PythonComment.ReplaceAllString(file.PythonText, " "))
	text := cfacts.PythonComment.ReplaceAllString(file.PythonText, "")
	b.Sixteen = namesOf16[op.FP16].MatchString(text) || namesOf16[op.BF16].MatchString(text)
	b.WithoutDType = b.Function.Kind == cfacts.Python && b.Function.Name == "solve" && b.TakesSizes() &&
		!said && slices.Contains(b.Spec.PassDTypes(b.Pass), op.FP32.String())
	if len(b.Options.Only) > 0 {
		b.Asked = b.Options.Only
	}
	if made := b.givesDType(); !said && made != "" {
		b.Asked = []string{made}
	}
	stored := cmp.Or(b.Function.Parsed().Stores, b.Function.Parsed().Loads)
	switch {
	case b.WithoutDType && stored == "":
		b.Asked = []string{op.FP32.String()}
	case stored != "" && !said && len(b.Asked) == 0 || b.WithoutDType:
		b.Asked, b.Sixteen, b.Stores = []string{stored}, false, true
	}
}

// namesOf16 match the names of each type of 16 bits in Python, where half may also be half of a size; those
// of bf16 are taken out of the text before.
var namesOf16 = map[op.DType]*regexp.Regexp{
	op.BF16: regexp.MustCompile(`(?i)bfloat16|bf16`),
	op.FP16: regexp.MustCompile(`(?i)torch\.half\b|\.half\(|float16|fp16`),
}

// nameOfInteger matches the name of an integer type in Python; "int" alone is the type of a size.
var nameOfInteger = regexp.MustCompile(`(?i)\bu?int(?:8|16|32|64)\b|torch\.(?:u?int|long|short)|` +
	`tl\.u?int|\.(?:int|long|short)\(|\binteger`)

// UnstatedDTypes returns the dtypes of 16 bits that a function takes because it takes any, where neither its
// file nor the user names one; if a Python file names one of the two, the other. It includes the integers if
// a Python file names no integer type.
func (b *Binding) UnstatedDTypes() (others []string) {
	if len(b.Asked) > 0 || len(b.Options.DTypes) > 0 || len(b.Cases) < 2 || b.Cases[0].Main != op.FP32 ||
		b.Narrow && (!b.Sixteen || b.Function.Kind != cfacts.Python) {
		return nil
	}
	all := cfacts.PythonComment.ReplaceAllString(b.File.PythonText, "")
	for _, c := range b.Cases[1:] {
		names, text := namesOf16[c.Main], all
		if c.Main == op.FP16 {
			text = namesOf16[op.BF16].ReplaceAllString(text, "")
		}
		switch {
		case names != nil && (!b.Narrow || !names.MatchString(text)),
			!c.Main.IsFloat() && b.Function.Kind == cfacts.Python && !nameOfInteger.MatchString(all):
			others = append(others, c.DType)
		}
	}
	return others
}

// InStatedAlone returns the interpretation of a function that was written only for the dtypes that are named.
func (b *Binding) InStatedAlone() Alternative {
	var said []string
	for _, c := range b.Cases {
		if !slices.Contains(b.UnstatedDTypes(), c.DType) && !slices.Contains(said, c.Main.String()) {
			said = append(said, c.Main.String())
		}
	}
	return Alternative{Flags: "--dtype " + strings.Join(said, ","), Options: Options{Only: said}}
}

// Instances finds the dtypes of the operator that the function's types accept, and how it is called for each.
func (b *Binding) Instances() error {
	values, generic, err := b.templateValues()
	if err != nil {
		return err
	}
	// What triad does to inputs or outputs itself would be another rounding point in 16 bits.
	fp32Alone := len(b.Unscaled) > 0 || b.Whole || b.Returned != "" || b.HasAdapter(layout.BlockTotals)
	var why string
	for _, name := range b.Spec.PassDTypes(b.Pass) {
		main, ok := TensorDType(b.InputSpecs[0], name)
		if !ok || fp32Alone && main != op.FP32 {
			continue
		}
		if len(b.Asked) > 0 && !slices.Contains(b.Asked, main.String()) {
			continue
		}
		here := maps.Clone(values)
		if generic != "" {
			here[generic] = cppTypes[main]
		}
		if made := b.File.Instantiated(b.Function); generic != "" && len(made) > 0 &&
			!slices.Contains(made, main) {
			why = "its file instantiates " + b.Function.Name + " for other types"
			continue
		}
		if misfit := b.misfit(name, here); misfit != "" {
			if why == "" || !strings.Contains(misfit, " in ") {
				why = misfit
			}
			continue
		}
		call := "::" + b.Function.Name + b.templateArguments(here)
		b.Cases = append(b.Cases, Instance{DType: name, Main: main, Call: call, Types: here})
	}
	if len(b.Cases) == 0 {
		return b.Errorf("%s; %s is judged in %s", cmp.Or(why, "its lines ask for "+
			strings.Join(b.Asked, ", ")), b.Spec.Name, strings.Join(b.Spec.PassDTypes(b.Pass), ", "))
	}
	return nil
}

// templateValues gives the arguments of the function's template by name; generic is a type parameter that
// stands for the dtype.
func (b *Binding) templateValues() (values map[string]string, generic string, err error) {
	values = map[string]string{}
	for i, t := range b.Function.Template {
		switch {
		case i < len(b.Options.Arguments):
			values[t.Name] = b.Options.Arguments[i]
		case t.Default != "":
			values[t.Name] = t.Default
		case t.Type && generic == "":
			generic = t.Name
		default:
			return nil, "", b.Errorf("it is a template, and nothing says what %s is", t.Name)
		}
	}
	if len(b.Options.Arguments) > len(b.Function.Template) {
		return nil, "", b.Errorf("%d template arguments are given, it has %d parameters",
			len(b.Options.Arguments), len(b.Function.Template))
	}
	return values, generic, nil
}

func (b *Binding) templateArguments(values map[string]string) string {
	if len(b.Function.Template) == 0 {
		return ""
	}
	words := EachOf(b.Function.Template, func(t cfacts.TemplateParam) string { return values[t.Name] })
	return "<" + strings.Join(words, ", ") + ">"
}

// misfit names the parameter whose type does not fit a dtype of the operator, "" if all do.
func (b *Binding) misfit(dtype string, types map[string]string) string {
	for _, a := range b.Args {
		if a.Role != Input && a.Role != Output {
			continue
		}
		tensor := b.Tensor(a)
		own := a.Instantiate(types)
		element, any, ok := own.Element()
		want, fixed := TensorDType(tensor, dtype)
		element = b.HeldBy(element, want)
		switch {
		case any || a.Untyped || a.Adapter == layout.Narrow || own.IsBytes() && fixed && want.Size() == 1:
		case !ok:
			return a.Name + " is " + a.Text
		case !fixed: // an attribute says it: every float is one of its values
			if !slices.Contains([]op.DType{op.FP32, op.FP16, op.BF16}, element) {
				return a.Name + " is " + element.String()
			}
		case element != want && tensor.DType != "":
			return a.Name + " is " + element.String() + ", but " + tensor.Name + " is " + want.String() +
				" in " + b.Spec.Name
		case element != want:
			return b.typesOf(types)
		}
	}
	return ""
}

// HeldBy returns the type that a pointer's element is taken for where a tensor has a dtype: an int holds the
// bits of an unsigned int, as people write one for the other; it holds the integer values of floats, and
// where values are only moved, their bits.
func (b *Binding) HeldBy(element, want op.DType) op.DType {
	if element == op.I32 && (want == op.U32 || want == op.FP32 && (b.Whole || b.Spec.Own.Moves)) {
		return want
	}
	return element
}

// typesOf lists the types of the tensors that share the dtype of a case.
func (b *Binding) typesOf(types map[string]string) string {
	var words []string
	dtypes := map[op.DType]bool{}
	for _, a := range b.Args {
		if (a.Role == Input || a.Role == Output) && b.Tensor(a).DType == "" {
			if d, any, ok := a.Instantiate(types).Element(); ok && !any {
				words = append(words, a.Name+" is "+d.String())
				dtypes[d] = true
			}
		}
	}
	text := strings.Join(words, ", ")
	if len(dtypes) > 1 {
		text += ": they must be of one type"
	}
	return text
}

func (b *Binding) Tensor(a Argument) op.TensorSpec {
	if a.Role == Output {
		return b.OutputSpecs[a.Index]
	}
	return b.InputSpecs[a.Index]
}

// TensorDType returns a tensor's dtype in a case of a dtype name; ok is false where an attribute decides.
func TensorDType(t op.TensorSpec, dtype string) (op.DType, bool) {
	parts := strings.Split(dtype, "_")
	text := t.DType
	switch text {
	case "", "$1":
		text = parts[0]
	case "$2":
		text = parts[len(parts)-1]
	}
	d, err := op.ParseDType(text)
	return d, err == nil
}

// looser lists the contracts that a function in 16 bits is assumed to declare if the user gives none, the
// first that the operator permits: PyTorch code keeps every step in its dtype, or casts what it stores in
// between.
var looser = []string{"eager", "stored"}

// Contract returns the contract that a function declares for a dtype: the user's, where the operator permits
// it. Without one, a function in 16 bits declares a looser contract. It is judged under the default contract
// first, and one that meets only the looser one ends DIFFERENT_CONTRACT.
func (b *Binding) Contract(dtype string) string {
	asked := []string{b.Options.Contract}
	if asked[0] == "" && (dtype == "fp16" || dtype == "bf16") {
		asked = looser
	}
	for _, contract := range asked {
		if b.Spec.Permits(dtype, contract) {
			return contract
		}
	}
	return b.Spec.DefaultContract(dtype)
}

// CheckContract refuses a contract that the operator permits for no dtype of the function.
func (b *Binding) CheckContract() error {
	asked := b.Options.Contract
	permits := func(c Instance) bool { return b.Spec.Permits(c.DType, asked) }
	if asked == "" || slices.ContainsFunc(b.Cases, permits) {
		return nil
	}
	permitted := slices.Clone(b.Spec.Contract.Permits)
	for _, c := range b.Cases {
		if standard := b.Spec.DefaultContract(c.DType); !slices.Contains(permitted, standard) {
			permitted = append(permitted, standard)
		}
	}
	return b.Errorf("--contract %s: %s permits %s", asked, b.Spec.Name, strings.Join(permitted, ", "))
}

// cppTypes maps a dtype to its type in CUDA C++.
var cppTypes = map[op.DType]string{
	op.FP64: "double", op.FP32: "float", op.FP16: "__half",
	op.BF16: "__nv_bfloat16", op.E4M3: "__nv_fp8_e4m3", op.E5M2: "__nv_fp8_e5m2",
	op.I64: "long long", op.I32: "int", op.I8: "signed char", op.U8: "unsigned char", op.Bool: "bool",
	op.U32: "unsigned int", op.E2M1x2: "unsigned char",
}

// AbiNames maps a dtype to its name in abi.h.
var AbiNames = map[op.DType]string{
	op.FP64: "TRIAD_F64", op.FP32: "TRIAD_F32", op.FP16: "TRIAD_F16",
	op.BF16: "TRIAD_BF16", op.E4M3: "TRIAD_E4M3", op.E5M2: "TRIAD_E5M2",
	op.I64: "TRIAD_I64", op.I32: "TRIAD_I32", op.I8: "TRIAD_I8", op.U8: "TRIAD_U8", op.Bool: "TRIAD_BOOL",
	op.U32: "TRIAD_U32", op.E2M1x2: "TRIAD_E2M1X2",
}

// roundsUp matches what adds a half before it cuts off, and CUDA's round. Python's and torch's are others.
var roundsUp = regexp.MustCompile(
	`\b(?:floor|trunc)\([^\n]*\+\s*(?:float\()?0?\.5\b|\blibdevice\.round\(`)

// OtherHalves returns the doubt about a file that does not round halves to even, as the operator does.
func (b *Binding) OtherHalves() string {
	if !b.away || len(b.Spec.Own.Halves) == 0 {
		return ""
	}
	return b.Spec.Name + " rounds halves to even, and its lines round them away from zero, or up: if that " +
		"is meant so, say --distribution normal, where there are none"
}

// NarrowIntegers finds the pointers to int that stand for tensors of int64, such as labels and counts: people
// write int, and every value that the operator has there fits one. triad converts them before and after each
// call.
func (b *Binding) NarrowIntegers() {
	for i := range b.Args {
		a := &b.Args[i]
		if a.Role != Input && a.Role != Output || a.Adapter != layout.AsItLies || a.TorchTensor ||
			a.Over != "" || b.Function.Kind == cfacts.Python {
			continue
		}
		element, any, ok := a.Element()
		if ok && !any && element == op.I32 && b.Tensor(*a).DType == op.I64.String() {
			a.Adapter = layout.Narrow
		}
	}
}
