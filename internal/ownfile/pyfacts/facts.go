// Package pyfacts holds the facts that Python's own parser finds in a user's Python file:
// pybridge/own_facts.py finds them, internal/ownfile/pyparser runs that, and internal/kernelfile decides what
// they mean for an operator.
package pyfacts

// Parser returns the facts of a text.
type Parser func(text string) *File

// File holds what a Python file defines.
type File struct {
	Functions []Function // functions, classes, names of a class's apply, kernels that nothing launches
	DTypes    []string   // the dtypes that its lines ask for
	Text      string     // definitions below a condition that a GPU or Triton is there stand at its left
	Unpacked  []Unpacked // where the sizes of tensors get names
	Error     string     // why there are no facts; "" where there are
	Inline    []Source   // what it hands to load_inline, by lines
	Bound     []string   // the functions that load_inline binds
}

// Unpacked holds the names of a tensor's sizes: "M, N = x.shape".
type Unpacked struct {
	Of    string
	Names []string
}

// Source is a C++ or CUDA string.
type Source struct {
	Line       int
	Text, Made string // Made is what makes it while the file runs; "" where it is written out
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
	Defaults   string // what has its signature, where that is another one
	Signature  string // in one line
	Line       int
	Params     []Param
	Text       string     // of the whole definition, as it is written
	Code       string     // of it without words, each statement in a line
	Asking     string     // where it may ask tensors for sizes: what follows its head, or that of its forward
	Kernels    string     // the code of the kernels that it launches, and of those that these call
	GridWords  string     // of a kernel: the comments and decorators above it
	Calls      []string   // by each end of their paths: of torch.nn.Linear three
	Unpacked   []Unpacked // as of the file
	UsesFile   bool       // it uses something else that its file defines
	Numbers    []Number   // what is given a number in its lines, in its kernels, or in what they use
	Autograd   bool       // it goes through an autograd function that has a backward
	Backward   bool       // it is an autograd function that has one

	Packs  bool  // the one parameter of custom_kernel is a tuple
	Nested []int // how many things each element of it holds that is a tuple too; 0 for others

	Masks, KernelMasks Masks

	Made        map[string]Made // the variables that are given values
	Extremes    []string        // the arguments of each largest or smallest element, without the tensor
	Result      string          // the name that every return gives, or gives first
	Gives       bool            // it returns or yields something
	Returns     int             // how many returns there are
	Tuple       []string        // the names that every return gives, "" for what is none; nil for one
	MadeAs      string          // the dtype in which the result is made, whatever the function takes
	MakesFP32   bool            // it makes a tensor in fp32 and asks nothing for its dtype
	MakesResult bool            // every return gives a tensor that the function makes
	GivesBack   []string        // the parameters that every return gives, as they are

	Stores, Loads string   // the types of 16 bits to which its kernels convert what they store and load
	KernelCalls   []string // the names that its kernels call
	OnlyKernel    []Param  // the parameters of its kernel, where it launches a single one
	Like          []string // the variables like which it makes a tensor
}

// Number is a name with a number assigned to it.
type Number struct{ Name, Value string }

// Masks holds the triangular masks that some definitions compute.
type Masks struct {
	Params []string // the parameters of the definitions
	Always []string // the names of those that are always made, "" for what has none
	Tested []string // the names that conditions ask for
	Any    bool     // some are of rows and columns, always or not
	Moved  bool     // a triangle of torch's is moved by more than one
}

// Made describes how a tensor is created.
type Made struct {
	Many, One bool   // with as many elements as a size says, or with one
	Like      string // the variable like which it is made
	Times     int    // how often its name is given a value
}

// Param is a parameter, or a weight of a module.
type Param struct {
	Name, Text, Annotation, Default string
	Optional                        bool   // it has a default
	ByName                          bool   // it is handed over by its name alone
	Place                           string // of a module: call, init or weight
	Path                            string // of a weight: its name in the module, norm.weight

	Tensor    bool // a kernel takes it for a pointer
	Written   bool // of a kernel: it writes there
	Address   bool // a kernel casts it to a pointer
	ByProgram bool // a kernel loads or stores an element of it for each of its programs
	Side      bool // of a kernel: the length of rows, with which rows and columns are compared

	Called  []string // what the kernels call it that get it
	Asks    bool     // the lines may ask it for its sizes
	Used    bool     // a launch gets it, or a part of it is taken by sizes from elsewhere
	Handed  []Handed // the calls that get it
	Rank    int      // how many sizes the lines say that it has: 0 for nothing, -1 for two things
	Reach   int      // how many sizes it has at least, by those that are asked for
	Reread  bool     // its new values are made of those that are there
	Changed bool     // it is changed where it lies, and nothing is made like it
	Renamed bool     // its name is given something else
	Squared bool     // it is multiplied by itself
}

// Handed is an argument of a call, by its index, or by its name if that is -1.
type Handed struct {
	Call  string
	Index int
	Name  string
}
