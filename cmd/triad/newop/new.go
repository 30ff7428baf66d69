// Package newop is the verb new: it makes the files of an operator.
package newop

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"triad/cmd/triad/arguments"
	"triad/internal/catalog"
	"triad/internal/console"
	"triad/internal/newoperator"
	"triad/internal/op"
	"triad/internal/opfolder"
	"triad/internal/session"
)

// Options holds the name and the flags of new.
type Options struct {
	name, from, family, reference string
	inTree, reduces, formula      bool // formula: reference was given
}

// New returns the command triad new; run replaces what it does, nil: it makes the operator.
func New(c *console.Console, run func(*Options) error) *cobra.Command {
	var o Options
	if run == nil {
		run = func(o *Options) error { return makeOperator(c, o) }
	}
	cmd := &cobra.Command{
		Use:   "new NAME",
		Short: "make a working operator of your own: spec, kernel and truth",
		Long: `new makes a folder with a working operator of your own: NAME.toml says what it is, NAME.py
holds its truth, a torch function, and NAME.cu a kernel. triad compare ./NAME judges it at once; change the
files from there.
Nobody types a tolerance: the truth runs in fp64, and every operation of it says how far fp32 may be off.
Gradients come from autograd of it.

With --reference the truth is an expression of torch over tensors of one shape, rows x cols, by their names;
its dtypes, costs, shapes and distributions have defaults, and --add judges your kernel. With --reduction the
expression reduces the last dimension.

With --in-tree, in a checkout of triad, it makes the files of an operator of triad itself instead, from the
template of a family: spec, truth and mutants in internal/catalog/NAME, cuda/kernels/NAME.cu and
triton/NAME.py, and it adds the truth to the generated list of imports.`,
		Example: `  triad new my_norm && triad compare ./my_norm
  triad new my_softmax --from softmax
  triad new my_sigmoid --reference 'torch.sigmoid(x)' && triad compare ./my_sigmoid --add mine.cu
  triad watch ./my_norm
  go run ./cmd/triad new my_gate --in-tree --family elementwise`,
		Args: arguments.One("one name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name, o.formula = args[0], cmd.Flags().Changed("reference")
			return run(&o)
		},
	}
	cmd.Flags().StringVar(&o.from, "from", "", "start from a copy of this operator: "+
		strings.Join(catalog.Names(), ", "))
	cmd.Flags().StringVar(&o.reference, "reference", "",
		"make the truth of this expression of torch, e.g. 'torch.sigmoid(x)' or 'x * torch.tanh(gate)'")
	cmd.Flags().BoolVar(&o.reduces, "reduction", false,
		"with --reference: it reduces the last dimension, e.g. 'x.abs().mean(-1)'")
	cmd.Flags().BoolVar(&o.inTree, "in-tree", false,
		"make the files of an operator of triad itself, in this checkout")
	cmd.Flags().StringVar(&o.family, "family", "", "with --in-tree: whose template to start from, "+
		strings.Join(newoperator.Families(), ", "))
	return cmd
}

// makeOperator makes the files of an operator and says what to do with them.
func makeOperator(c *console.Console, o *Options) error {
	switch families := strings.Join(newoperator.Families(), ", "); {
	case o.inTree && o.from != "":
		return console.Usage(
			"new %s: --from is for an operator in a folder of its own; with --in-tree "+
				"choose a --family: %s", o.name, families)
	case o.inTree && o.family == "":
		return console.Usage(
			"new %s: --in-tree starts from the template of a family: say --family with "+
				"one of %s", o.name, families)
	case !o.inTree && o.family != "":
		return console.Usage("new %s: --family is for an operator of triad itself: say --in-tree too",
			o.name)
	case o.formula && (o.inTree || o.from != ""):
		return console.Usage("new %s: --reference stands alone: --from and --in-tree have a truth", o.name)
	case o.reduces && !o.formula:
		return console.Usage("new %s: --reduction says of --reference that it reduces: give the "+
			"expression", o.name)
	case o.inTree:
		return newInTree(c, o.name, o.family)
	}
	made := func() error { return opfolder.Create(o.name, o.from, c.Files) }
	if o.formula {
		made = func() error {
			return opfolder.CreateFrom(o.name, opfolder.Formula{Expression: o.reference, Reduces: o.reduces})
		}
	}
	if err := made(); err != nil {
		var u *op.UsageError
		if errors.As(err, &u) {
			return err
		}
		return session.Fail(session.ExitBad, err)
	}
	return printNew(c.Out, filepath.Clean(o.name), !o.formula)
}

// newInTree creates the files of an operator in the checkout of the working directory, and says what is left
// to do.
func newInTree(c *console.Console, name, family string) error {
	root, err := newoperator.Checkout(".")
	var files []string
	if err == nil {
		files, err = newoperator.Create(root, name, family)
	}
	var u *op.UsageError
	if errors.As(err, &u) {
		return console.Usage("new %s: %s", name, u.Message)
	}
	if err != nil {
		return session.Fail(session.ExitBad, err)
	}
	_, err = fmt.Fprintf(c.Out, `%[1]s is a working operator, from the template %[2]s:

  %[3]s

%[4]s links its truth.

What is left, as docs/writing-an-op.md explains:

  1. the spec: formula, source, sizes, tensors, contracts, shapes to judge, costs, synonyms
  2. the truth: formulas, and what holds of them
  3. the kernels and rows, fastest last, and the head of each file
  4. the bugs that only this operator can have, in mutants_test.go

Judge it:

  go run ./cmd/triad compare %[1]s --quick
  make mutation OP=%[1]s
  make generated
  make test
`, name, family, strings.Join(files, "\n  "), newoperator.ImportList)
	if err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	return nil
}

// printNew prints what was made and what to do with it.
func printNew(out io.Writer, path string, kernels bool) error {
	name := filepath.Base(path)
	if !filepath.IsAbs(path) && !strings.HasPrefix(path, "..") {
		path = "." + string(os.PathSeparator) + path
	}
	holds := "a working operator"
	files := "  %[2]s.cu    its CUDA kernels\n\nJudge it:\n\n  triad compare %[1]s\n"
	if !kernels { // nothing of the expression has run yet
		holds = "an operator"
		files = "\nJudge it, and your kernel with it:\n\n  triad compare %[1]s\n  triad compare %[1]s " +
			"--add mine.cu\n"
	}
	_, err := fmt.Fprintf(out, `%[1]s holds %[3]s:

  %[2]s.toml  what it is: sizes, tensors, contracts, shapes to judge
  %[2]s.py    its truth, a torch function that runs in fp64; and rows of torch or Triton
`+files, path, name, holds)
	if err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	return nil
}
