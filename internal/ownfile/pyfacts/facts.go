// Package pyfacts holds the facts that Python's own parser finds in a user's Python file:
// pybridge/user_files/own_facts.py finds them, internal/ownfile/pyparser runs that, and internal/ownfile
// decides what they mean for an operator.
package pyfacts

// Parser returns the facts of a text.
type Parser func(text string) *File

// File holds what a Python file defines.
type File struct {
	Functions []Function // functions, classes, names of a class's apply, kernels
	DTypes    []string   // the dtypes that its lines request
	Text      string     // definitions under a condition that a GPU or Triton is present are dedented to it
	Unpacked  []Unpacked // where the sizes of tensors get names
	Error     string     // why there are no facts, "" if there are
	Syntax    string     // the first syntax error: "line 2, column 13: expected ':'"
	Inline    []Source   // what it passes to load_inline, by lines
	Bound     []string   // the functions that load_inline binds
	InMain    []string   // the names that a block of "__main__" gives a value
	Widens    bool       // its kernels convert what they load to fp32
	Heads     []Head     // of all functions, outer ones first
	// by the line of a raise, the condition of the block that it stands in, "if x.ndim != 2", else its kind
	Guards map[int]string
}

// Head is a function with its first and last line: its decorators, its parameters, and the names that it
// gives the parts of a parameter.
type Head struct {
	Name, Text string
	Line, End  int
}

// Unpacked holds the names of a tensor's sizes: "M, N = x.shape".
type Unpacked struct {
	Of    string
	Names []string
}

// Source is a C++ or CUDA string.
type Source struct {
	Line       int
	Text, Made string // Made is the expression that computes it at run time; "" for a literal
}

// The forms of what a file defines.
const (
	Plain   = ""        // a function
	Applied = "applied" // a torch.autograd.Function, or a name that stands for its apply
	Module  = "module"  // a class whose objects are called
	Packed  = "packed"  // custom_kernel(data)
	Kernel  = "kernel"  // of Triton
)

// Function is a callable definition.
type Function struct {
	Name, Form string
	Call       string // what is called: softmax, Softmax.apply
	Defaults   string // what has its signature, if that is another definition
	StandsFor  string // what a name is assigned, if that is not a definition
	Signature  string // in one line
	Line       int
	Params     []Param
	Text       string     // of the whole definition, as written
	Code       string     // of it without decorators and comments, one statement per line
	Asking     string     // where it may query sizes of tensors: the text after its head, or its forward's
	Kernels    string     // the code of the kernels that it launches, and of those that these call
	Calls      []string   // by each end of their paths: of torch.nn.Linear three
	Unpacked   []Unpacked // as of the file
	UsesFile   bool       // it uses another definition of its file
	Strings    []string   // the strings that are words, of it and of its kernels
	Numbers    []Number   // names with a number in its lines, in its kernels, or in what they use
	Added      []string   // the numbers that it and its kernels add
	Autograd   bool       // it goes through an autograd function that has a backward
	Backward   bool       // it is an autograd function that has one

	Packs    bool // the one parameter of custom_kernel is a tuple
	Launched bool // of a kernel: another function launches it

	Masks, KernelMasks Masks

	Made        map[string]Made // the variables that are assigned
	Extremes    []string        // the arguments of each max or min, without the tensor
	Result      string          // the name that every return has, alone or first
	Gives       bool            // it returns or yields something
	Returns     int             // the number of returns
	Tuple       []string        // the names in every return, "" for other values; nil for a single value
	MadeAs      string          // the dtype in which the result is created, whatever the function takes
	MakesResult bool            // every return has a tensor that the function creates
	GivesBack   []string        // the parameters in every return, unchanged

	Stores, Loads string   // the 16-bit types to which its kernels convert what they store and load
	Like          []string // the variables like which it creates a tensor
}

// Number is a name with a number assigned to it.
type Number struct{ Name, Value string }

// Masks holds the triangular masks that some definitions compute.
type Masks struct {
	Params []string // the parameters of the definitions
	Always []string // the names of those that are always computed, "" for unnamed ones
	Tested []string // the names that conditions test
	Any    bool     // some are of rows and columns, always or not
	Moved  bool     // a triangle of torch's is shifted by more than one
}

// Made describes how a tensor is created.
type Made struct {
	Many, One bool   // with as many elements as a size, or with one
	Like      string // the variable like which it is created
	Times     int    // the number of assignments to its name
}

// Param is a parameter, or a weight of a module.
type Param struct {
	Name, Text, Annotation, Default string
	Optional                        bool   // it has a default
	ByName                          bool   // it is passed by name only
	Place                           string // of a module: call, init or weight
	Path                            string // of a weight: its name in the module, norm.weight

	Tensor    bool // a kernel takes it as a pointer
	Written   bool // of a kernel: it writes there
	Tuned     bool // of a kernel: its decorators choose it
	Address   bool // a kernel casts it to a pointer
	ByProgram bool // a kernel loads or stores an element of it for each of its programs

	Called  []string // its names in the kernels that get it
	Asks    bool     // the lines may query its sizes
	Used    bool     // a launch gets it, or a part of it is taken by sizes from elsewhere
	Handed  []Handed // the calls that get it
	Rank    int      // the rank that the lines give it: 0 for none, -1 for contradictory ones
	Reach   int      // its minimum rank, by the sizes that are queried
	Reread  bool     // its new values are computed from its old ones
	Changed bool     // it is changed in place, and nothing is created like it
	Renamed bool     // its name is reassigned
	Squared bool     // it is multiplied by itself
}

// Handed is an argument of a call, by its index, or by its name if that is -1.
type Handed struct {
	Call  string
	Index int
	Name  string
}
