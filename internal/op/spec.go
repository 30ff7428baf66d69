package op

import "slices"

// Spec describes an operator as data: internal/catalog/<op>/<op>.toml, or a user's own file. Load reads and
// checks one; a Spec made otherwise has no compiled expressions and returns errors.
type Spec struct {
	Name        string          `toml:"name"`
	Summary     string          `toml:"summary"`
	AlsoCalled  []string        `toml:"also_called"` // other common names: matmul is gemm
	NearestTo   []string        `toml:"nearest_to"`  // names of what triad lacks and this is nearest to
	Findings    string          `toml:"findings"`    // the operator whose findings it has too
	Formula     string          `toml:"formula"`
	Source      string          `toml:"source"`
	DTypes      []string        `toml:"dtypes"`  // names of a case's dtype; "e5m2_e4m3" has two parts
	Require     []string        `toml:"require"` // conditions over dims and attributes
	Dims        []DimSpec       `toml:"dims"`
	Attributes  []AttributeSpec `toml:"attributes"`
	InputSpecs  []TensorSpec    `toml:"inputs"`
	OutputSpecs []TensorSpec    `toml:"outputs"`
	Backward    *BackwardSpec   `toml:"backward"` // nil: the operator has no backward
	Contract    ContractSpec    `toml:"contract"`
	Limits      LimitSpec       `toml:"limits"`
	Costs       CostSpec        `toml:"cost"`
	Check       CheckSpec       `toml:"check"`
	Bench       []BenchSpec     `toml:"bench"`
	Absent      []AbsentSpec    `toml:"absent"`
	// Synonyms lists, by its name, what people call a tensor, size or attribute in kernels of their own: the
	// likely first, after | weak ones, which often mean something else. The key "a * b" is a product of
	// sizes, "a = b" several sizes that must be equal: one parameter may stand for either.
	Synonyms map[string]string `toml:"synonyms"`
	Own      OwnSpec           `toml:"own"`
	Advice   AdviceSpec        `toml:"advice"`
	Torch    TorchSpec         `toml:"torch"`
	Compile  []CompileSpec     `toml:"compile"`

	require []Expression
	shapes  []checkShape
	plain   *Spec // WithoutImplied; nil: itself
}

// DimSpec is one named size. Default is an expression over dims and attributes for its value where none is
// given.
type DimSpec struct {
	Name       string `toml:"name"`
	MayBeEmpty bool   `toml:"may_be_empty"`
	Default    string `toml:"default"`
	// Implied: a case holds the dim only where its size is not the default, which is another dim
	Implied bool `toml:"implied"`

	value Expression
}

// AttributeSpec is one attribute. Type is "bool", "int", "float" or "enum", whose Values are its words.
// Default is a value, or for an int or a float an expression over dims.
type AttributeSpec struct {
	Name    string   `toml:"name"`
	Type    string   `toml:"type"`
	Values  []string `toml:"values"`
	Default any      `toml:"default"`
	// Positive requires a float to be above 0, also when it is rounded to fp32.
	Positive bool `toml:"positive"`
	// Least and Below are bounds of an int or a float: at least this, and less than that; nil: none.
	Least *float64 `toml:"least"`
	Below *float64 `toml:"below"`
	// Draws: the int seeds random numbers, and another seed of the inputs changes it.
	Draws bool `toml:"draws"`

	value Expression // of an int or float
	word  string     // of a bool or enum
}

// TensorSpec is one tensor. DType is empty for the case's dtype, "$1" or "$2" for a part of it, "$name" for
// the value of the enumeration called name, else a dtype. Shape is a list of expressions, or a table from an
// enumeration to such lists by its values: {scaling = {tensor = ["1"], row = ["m"]}}. Fill names the rule
// that makes an input where it is not the distribution's.
type TensorSpec struct {
	Name     string `toml:"name"`
	Shape    any    `toml:"shape"`
	DType    string `toml:"dtype"`
	Optional bool   `toml:"optional"` // output: an implementation declares whether it gives it
	// output: -inf where there is nothing to add up, for any inputs
	MayBeNegInf bool `toml:"may_be_neg_inf"`
	MayBeInf    bool `toml:"may_be_inf"` // of either sign
	// output: a choice of the kernel, judged first and by its own rule; the truth of the other outputs is
	// that under this choice
	Given          bool `toml:"given"`
	Differentiable bool `toml:"differentiable"` // input: has a gradient, and follows a case's layout
	// input without a gradient, or tensor of [[backward.tensors]]: follows a case's layout
	Strided bool   `toml:"strided"`
	Fill    string `toml:"fill"`

	shape shapeSpec
}

// shapeSpec is a compiled shape: choices by the value of an enumeration, or one under "" where it depends on
// none.
type shapeSpec struct {
	attribute string
	choices   map[string][]Expression
}

// BackwardSpec lists the inputs and outputs of a backward, in the order a kernel gets them: inputs of the
// operator, saved outputs, upstream gradients grad_<output>, or what Tensors declares; gradients
// grad_<input>.
type BackwardSpec struct {
	Formula string   `toml:"formula"`
	Inputs  []string `toml:"inputs"`
	Outputs []string `toml:"outputs"`
	Chained bool     `toml:"chained"` // false where the forward saves nothing
	DTypes  []string `toml:"dtypes"`  // where they are not the operator's
	// tensors that are neither input, output nor gradient, and gradients of another dtype
	Tensors []TensorSpec `toml:"tensors"`
}

// ContractSpec names the contract every implementation is judged under first, by dtype, and the looser ones
// that may be declared.
type ContractSpec struct {
	Default map[string]string `toml:"default"`
	Permits []string          `toml:"permits"`
}

// LimitSpec bounds intermediates, so that extreme inputs are scaled down until the mathematics stays within
// range: each is an expression over dims, attributes and the names of drawn tensors, which represent their
// largest magnitude. FP32 may reach 2^126, Stored (what a permitted contract keeps in the input's dtype) half
// of the largest number of that dtype.
type LimitSpec struct {
	Forward  Limits `toml:"forward"`
	Backward Limits `toml:"backward"`
}

// Limits are the bounds of one pass.
type Limits struct {
	FP32   []string `toml:"fp32"`
	Stored []string `toml:"stored"`

	fp32, stored []Expression
}

// CostSpec counts the least that a pass must move and compute. The expressions count as `parts` the groups
// that have elements: Parts names the input of offsets that makes them, or the output that chooses them and
// is given to the backward.
type CostSpec struct {
	Parts    string   `toml:"parts"`
	Products string   `toml:"products"` // the dtype of matrix products, where it is not that of the case
	Forward  PassCost `toml:"forward"`
	Backward PassCost `toml:"backward"`
}

// PassCost holds expressions over dims, attributes (bool and enum by number), size (bytes of an element of
// the first input), size_<tensor> and parts.
type PassCost struct {
	Bytes string `toml:"bytes"`
	Flops string `toml:"flops"`

	bytes, flops Expression
}

// OwnSpec lists the forms in which people write the operator in their own files.
type OwnSpec struct {
	// sizes that decide whether the order of tensors in memory matters: where all are 1, every order is the
	// same
	Flat []string `toml:"flat"`
	// outputs that may overwrite an input, by name: y = "x"
	InPlace map[string]string `toml:"in_place"`
	// inputs that are not read where an attribute is 0, by name: c = "beta". Functions multiply them all the
	// same, so that users' files are given finite ones there
	Unread map[string]string `toml:"unread"`
	// inputs that may share one buffer, in sequence or row by row
	Packed []string `toml:"packed"`
	// tensors, and sizes, that a function of one tensor omits, with those it is called for first: k = "q"
	Each map[string]string `toml:"each"`
	// the inputs that the output is finally multiplied by and added to, row after row: a function may omit
	// them
	Factor string `toml:"factor"`
	Addend string `toml:"addend"`
	// tensors [batch, heads, seq, dim] that may be laid out as BSHD, where a parameter is the product
	// TokenSize
	Tokens    []string `toml:"tokens"`
	TokenSize string   `toml:"token_size"`
	// tables whose rows may be given twice, where they are as wide as WideSize
	Wide     []string `toml:"wide"`
	WideSize string   `toml:"wide_size"`
	// distributions with quotients halfway between two integers, which the operator rounds to even
	Halves []string `toml:"halves"`
	// distributions whose inputs and outputs are integers that an int holds: a function of ints is judged on
	// these
	Whole []string `toml:"whole"`
	// distributions in which no target counts, where libraries return 0 or NaN for a mean: files are not
	// judged on these
	NoTarget []string `toml:"no_target"`
	// an output of one element that is a total: a kernel may return one value per block, which add up to it
	Total string `toml:"total"`
	// words, in lower case, one of which occurs in a file that may compute the operator's own numbers, and
	// what is reported for other files: none of their answers can be compared
	Needs []string `toml:"needs"`
	Lacks string   `toml:"lacks"`
	// the attribute that seeds those numbers: a gradient of a function that takes it is judged by its own
	// forward's choice
	Seed string `toml:"seed"`
	// Moves: values are only moved, so that an int may hold the bits of a float
	Moves bool `toml:"moves"`
	// by attribute, the number in a file's lines that implies its value: approximate = { tanh = 0.044715 }
	Literals map[string]map[string]float64 `toml:"literals"`
	// by attribute, words of comments that imply its value: layout_b = { nk = "b^t b.t" }
	Comments map[string]map[string]string `toml:"comments"`
	// by attribute, the size that it is half of where a file's lines halve that size, and it has no parameter
	Halved map[string]string `toml:"halved"`
	// the switch of adjacent elements, which a file's lines take in pairs: x[..., ::2]
	Pairs string `toml:"pairs"`
	// the switch that is on where a file's lines always leave out one side of a diagonal, with the sizes of
	// the square: causal = "seq_q = seq_kv"
	Triangle map[string]string `toml:"triangle"`
	// the number of elements that a workspace may have in addition to those of the largest tensor
	Scratch string `toml:"scratch"`
}

// CheckSpec lists what is judged: the distributions that apply, and at most 32 shapes. A shape gives every
// dim without a default, may pin attributes, and carries marks: all (every distribution occurs on it; at most
// three), quick (part of --quick), device = "gpu". Quick lists the distributions that --quick takes in
// addition to normal.
type CheckSpec struct {
	Distributions []string `toml:"distributions"`
	Quick         []string `toml:"quick"`
	// Pins fixes attributes under a distribution: {non_finite = {causal = false}} leaves causal cases out of
	// it.
	Pins map[string]map[string]any `toml:"pins"`
	// Logits names the two inputs whose product makes the logits of a softmax, as in attention: [..., query,
	// dim] and [..., key, dim]. Without them the distributions of logits act on the inputs themselves. With
	// them G4 and G5 apply to normal data only: with other logits one key has nearly all the weight, and its
	// few rounding errors are no statistic.
	Logits []string `toml:"logits"`
	// Integers defines the distribution integers: "" small integers, "one_hot" one column of 1024 among
	// zeros, "halves" quarters of a unit from -1/2 to 127, and under ties from -127.5 to 127.5, "midpoints"
	// numbers that a scale of fp8 makes halfway between two fp8 numbers, also under ties. The others
	// have many results that 16 bits cannot hold, halfway between two of their numbers: "wide" integers of
	// all bits of the dtype, "total" such ones whose sum, or sum of products, is such a number, and "apart"
	// two tensors whose squared differences have such a sum. "order" numbers whose sum in fp32 depends on
	// their order.
	Integers string `toml:"integers"`
	// NonFinite chooses the values of the distribution non_finite: "" one NaN or infinity in a tensor;
	// "each" NaN, +inf and -inf, each in a row of its own, where rows stand alone; "rows" by turns rows of
	// NaN, rows of many NaN and infinities, and rows with one of them; "products" two in a tensor of which
	// a fourth is 0, so that some meet a 0 of the other factor.
	NonFinite string `toml:"non_finite"`
	// NoUpstreams lists upstream gradients without cases, such as non_finite where a right backward
	// multiplies it by 0.
	NoUpstreams []string `toml:"no_upstreams"`
	// Row is the number of elements in each row that tensors of one dim are drawn as, so that one case covers
	// every kind of row in a distribution; 0: one row.
	Row     int64            `toml:"row"`
	Trivial TrivialSpec      `toml:"trivial"`
	Truth   TruthShapes      `toml:"truth"`
	Shapes  []map[string]any `toml:"shapes"`
}

// TruthShapes are for the tests of the operator's truth. Sampled is a shape of which a sample of rows omits
// something; without it the shapes of the quick level are used. ByRows are shapes whose runs of judged
// elements are whole rows, single rows, and parts of rows: for a truth that can be computed row by row.
type TruthShapes struct {
	Sampled map[string]int64   `toml:"sampled"`
	ByRows  []map[string]int64 `toml:"by_rows"`
}

// BenchSpec is one benchmark point.
type BenchSpec struct {
	Name       string           `toml:"name"`
	Dims       map[string]int64 `toml:"dims"`
	Attributes map[string]any   `toml:"attributes"`
	DTypes     []string         `toml:"dtypes"` // empty: every dtype of the operator
}

// AdviceSpec is the advice to the author of a wrong kernel, half a sentence each.
type AdviceSpec struct {
	// SpecialNumbers is the advice where a kernel is right on ordinary numbers and wrong on others.
	SpecialNumbers string `toml:"special_numbers"`
	// Unwritten is the advice where elements stay unwritten; "" where a grid that is too small is the usual
	// cause.
	Unwritten string `toml:"unwritten"`
	// Usual is the advice where a kernel is wrong everywhere: the part of the formula that is most often
	// missed.
	Usual string `toml:"usual"`
	// Ends, Seams, Boundary and Transposed are the operator's names for places at which a wrong kernel is
	// often wrong, "" where it has none: both ends of a row, where tiles meet, everything from the start of
	// one, the transposed places.
	Ends       string `toml:"ends"`
	Seams      string `toml:"seams"`
	Boundary   string `toml:"boundary"`
	Transposed string `toml:"transposed"`
}

// TorchSpec is for callers of the operator from torch. Autocast gives by device (cuda, cpu) what
// torch.autocast does with torch's own operator of the kind: "fp32" or "lower"; without an entry the inputs
// are widened to one dtype.
type TorchSpec struct {
	Autocast map[string]string `toml:"autocast"`
}

// CompileSpec is a size for which a test compiles the Triton kernels, without a GPU: one with full tiles.
type CompileSpec struct {
	Dims       map[string]int64 `toml:"dims"`
	Attributes map[string]any   `toml:"attributes"`
	DTypes     []string         `toml:"dtypes"`  // empty: the operator's last
	Layouts    []string         `toml:"layouts"` // contiguous or transposed; empty: contiguous
}

// AbsentSpec declares that a file of the operator is missing on purpose: Room is "cuda" or "triton".
type AbsentSpec struct {
	Room   string `toml:"room"`
	Reason string `toml:"reason"`
}

// checkShape is one compiled entry of CheckSpec.Shapes.
type checkShape struct {
	dims       map[string]int64
	attributes map[string]string
	all, quick bool
	device     string
}

// Distributions names every kind of input data, in the order of judge's list.
var Distributions = []string{
	"normal", "scaled", "shifted", "constant", "zeros", "integers", "outlier", "low_logits", "neg_inf_mask",
	"neg_inf_blocks", "non_finite", "extremes", "late_max", "row_offsets", "ties", "sparse",
	"halfway", "balanced",
}

// Layouts names every memory layout of the differentiable inputs.
var Layouts = []string{
	"contiguous", "offset", "offset_one", "sliced", "transposed", "expanded", "padded",
}

// Layouts returns the possible layouts of the operator's inputs: tensors of one dim have no rows to
// transpose, repeat or pad. Sliced, they are every second element of longer ones. Under offset_one one of
// several inputs begins at an odd place.
func (s *Spec) Layouts() []string {
	rows := false
	for _, t := range s.InputSpecs {
		for _, sizes := range t.shape.choices {
			rows = rows || (t.Differentiable || t.Strided) && len(sizes) > 1
		}
	}
	several := slices.ContainsFunc(s.Passes(), func(p Pass) bool { return len(s.Laid(p)) > 1 })
	return slices.DeleteFunc(slices.Clone(Layouts), func(name string) bool {
		return name == "offset_one" && !several || name == "sliced" && len(s.Laid(Forward)) == 0 ||
			!rows && slices.Contains([]string{"transposed", "expanded", "padded"}, name)
	})
}

// Laid names the inputs of a pass that follow the layout of a case.
func (s *Spec) Laid(pass Pass) (names []string) {
	inputs, _ := s.tensorSpecs(pass)
	for _, t := range inputs {
		if t.Differentiable || t.Strided {
			names = append(names, t.Name)
		}
	}
	return names
}

// Upstreams names every kind of upstream gradient: what it holds, and then, of normal numbers, how it alone
// lies in memory. "expanded" is one number with strides of 0, as the backward of a sum gives it.
var Upstreams = append(
	[]string{"normal", "ones", "one_hot", "zeros", "huge", "non_finite"}, upstreamLayouts...,
)

// UpstreamKinds returns the upstream gradients with other values than normal ones. Where the forward promises
// nothing about NaN and infinities, the backward does not either.
func (s *Spec) UpstreamKinds() []string {
	kinds := slices.Clone(Upstreams[1 : len(Upstreams)-len(upstreamLayouts)])
	return slices.DeleteFunc(kinds, func(name string) bool {
		return slices.Contains(s.Check.NoUpstreams, name) ||
			name == "non_finite" && !slices.Contains(s.Check.Distributions, name)
	})
}

var upstreamLayouts = []string{"expanded", "transposed", "offset"}

// OrdinaryUpstream returns the kind of upstream gradient with the memory layout of this kind, and with
// ordinary numbers.
func OrdinaryUpstream(kind string) string {
	if kind == "" || slices.Contains(upstreamLayouts, kind) {
		return kind
	}
	return Upstreams[0]
}

// UpstreamLayouts returns the possible memory layouts of the operator's upstream gradients: a tensor of one
// dim has nothing to transpose, one of a single element nothing to expand, and operands that are made of a
// gradient follow the case's layout.
func (s *Spec) UpstreamLayouts() []string {
	if s.Backward == nil || len(s.Backward.Tensors) > 0 {
		return nil
	}
	dims := 0
	for _, t := range s.OutputSpecs {
		for _, sizes := range t.shape.choices {
			single := !slices.ContainsFunc(sizes, func(e Expression) bool { return e.String() != "1" })
			if slices.Contains(s.Backward.Inputs, "grad_"+t.Name) && !single {
				dims = max(dims, len(sizes))
			}
		}
	}
	return [][]string{{"offset"}, {"expanded", "offset"}, upstreamLayouts}[min(dims, 2)]
}

// ContractName is a contract with its promise in words.
type ContractName struct{ Name, Promise string }

// Contracts lists every contract a spec may name.
var Contracts = []ContractName{
	{"fp32", "inputs exact, every internal value and sum in fp32, one rounding at the output"},
	{"stored", "as fp32, but what the reference marks as rounded may be stored in the input's dtype"},
	{
		"p16",
		"as fp32, but the probabilities P, and in the backward P and dS, may be stored in the input's dtype",
	},
	{"promoted", "fp8 products summed in the tensor core over at most 128 of K, then in fp32"},
	{"fast", "fp8 products summed in the tensor core over the whole K"},
	{"product16", "softmax backward with p*dy stored in the input's dtype"},
	{"tf32", "fp32 operands of products read as tf32"},
	{"eager", "every intermediate of the written composition rounded to the dtype"},
	{"exact", "the very bits: nothing is rounded or flushed to zero, and -0 is not +0"},
}

// IsDrawn reports whether the operator's problem draws one of its inputs itself.
func (s *Spec) IsDrawn() bool {
	return slices.ContainsFunc(s.InputSpecs, func(t TensorSpec) bool { return t.Fill == Drawn })
}

// Input returns the input called name; false where there is none.
func (s *Spec) Input(name string) (TensorSpec, bool) { return tensorNamed(s.InputSpecs, name) }

// Output returns the output called name; false where there is none.
func (s *Spec) Output(name string) (TensorSpec, bool) { return tensorNamed(s.OutputSpecs, name) }

func tensorNamed(list []TensorSpec, name string) (TensorSpec, bool) {
	for _, t := range list {
		if t.Name == name {
			return t, true
		}
	}
	return TensorSpec{}, false
}

// Passes lists the passes the operator has.
func (s *Spec) Passes() []Pass {
	if s.Backward == nil {
		return []Pass{Forward}
	}
	return []Pass{Forward, Backward}
}

// PassDTypes lists the dtype names of a pass.
func (s *Spec) PassDTypes(pass Pass) []string {
	if pass == Backward && s.Backward != nil && len(s.Backward.DTypes) > 0 {
		return s.Backward.DTypes
	}
	return s.DTypes
}

// DefaultContract returns the contract that implementations are judged under first.
func (s *Spec) DefaultContract(dtype string) string { return s.Contract.Default[dtype] }

// Permits reports whether an implementation may declare a contract for a dtype.
func (s *Spec) Permits(dtype, contract string) bool {
	if contract == "" {
		return false
	}
	if contract == s.Contract.Default[dtype] {
		return true
	}
	for _, p := range s.Contract.Permits {
		if p == contract {
			return true
		}
	}
	return false
}
