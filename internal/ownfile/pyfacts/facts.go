// Package pyfacts holds what Python's own parser says of a Python file of the user's: pybridge/own_facts.py
// finds it, internal/ownfile/pyparser runs that, and internal/kernelfile decides what it means for an
// operator.
package pyfacts

// Parser gives the facts of a text.
type Parser func(text string) *File

// File is what a Python file defines.
type File struct {
	Functions []Function // functions, classes, names of a class's apply, kernels that nothing launches
	DTypes    []string   // the dtypes that its lines ask for
	Text      string     // definitions below a condition that a GPU or Triton is there stand at its left
	Error     string     // why there are no facts; "" where there are
	Inline    []Source   // what it hands to load_inline, by lines
	Bound     []string   // the functions that load_inline binds
}

// Source is a string of C++ or CUDA.
type Source struct {
	Line       int
	Text, Made string // Made is what makes it while the file runs; "" where it is written out
}

// The forms of what a file defines.
const (
	Plain   = "plain"   // a function
	Applied = "applied" // a torch.autograd.Function, or a name that stands for its apply
	Module  = "module"  // a class whose objects are called
	Packed  = "packed"  // custom_kernel(data)
	Kernel  = "kernel"  // of Triton
)

// Function is something that can be called.
type Function struct {
	Name, Form string
	Call       string // what is called: softmax, Softmax.apply
	Defaults   string // what has its signature, where that is another one
	Signature  string // in one line
	Line       int
	Params     []Param
	Text       string // of the whole definition, as it is written
	Code       string // of it without words, each statement in a line
	Own        string // of that without the functions within; of an autograd function its forward alone
	Asking     string // where it may ask tensors for sizes: what follows its head, or that of its forward
	Kernels    string // the code of the kernels that it launches, and of those that these call
	GridWords  string // of a kernel: the comments and decorators above it
	Calls      []string
	Launches   []string // the names of kernels
	Autograd   bool     // it goes through an autograd function that has a backward
	Backward   bool     // it is an autograd function that has one

	Packs  bool  // the one parameter of custom_kernel is a tuple
	Nested []int // how many things each element of it holds that is a tuple too; 0 for others

	Result      string   // the name that every return gives, or gives first
	Returns     int      // how many returns there are
	Tuple       []string // the names that every return gives, "" for what is none; nil for one
	MadeAs      string   // the dtype in which the result is made, whatever the function takes
	MakesFP32   bool     // it makes a tensor in fp32 and asks nothing for its dtype
	MakesResult bool     // every return gives a tensor that the function makes
	GivesBack   []string // the parameters that every return gives, as they are

	Stores, Loads string   // the types of 16 bits to which its kernels convert what they store and load
	OnlyKernel    []Param  // the parameters of its kernel, where it launches a single one
	Like          []string // the variables like which it makes a tensor
}

// Param is a parameter, or a weight of a module.
type Param struct {
	Name, Text, Annotation, Default string
	Optional                        bool   // it has a default
	ByName                          bool   // it is handed over by its name alone
	Place                           string // of a module: call, init or weight
	Path                            string // of a weight: its name in the module, norm.weight

	Tensor  bool // a kernel takes it for a pointer
	Written bool // of a kernel: it writes there
	Address bool // a kernel casts it to a pointer

	Called    []string // what the kernels call it that get it
	Asks      bool     // the lines may ask it for its sizes
	Used      bool     // a launch gets it, or a part of it is taken by sizes from elsewhere
	Handed    []Handed // the calls that get it
	Rank      int      // how many sizes the lines say that it has: 0 for nothing, -1 for two things
	Reach     int      // how many sizes it has at least, by those that are asked for
	Rewritten bool     // its new values are made of those that are there
	Reloaded  bool     // a kernel of a file that stores loads from what is called so
	Squared   bool     // it is multiplied by itself
}

// Handed is an argument of a call: by its index, or by its name where that is -1.
type Handed struct {
	Call  string
	Index int
	Name  string
}
