package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"triad/internal/catalog"
	"triad/internal/op"
	"triad/internal/opfolder"
	"triad/internal/session"
)

func (a *app) newCommand() *cobra.Command {
	var from string
	cmd := &cobra.Command{
		Use:   "new NAME",
		Short: "make a working operator of your own: spec, kernel and truth",
		Long: `new makes a folder with a working operator of your own: NAME.toml says what it is, NAME.py holds its truth, a
torch function, and NAME.cu a kernel. triad compare ./NAME judges it at once; change the files from there.
Nobody types a tolerance: the truth runs in fp64, and every operation of it says how far fp32 may be off.
Gradients come from autograd of it.`,
		Example: `  triad new my_norm && triad compare ./my_norm
  triad new my_softmax --from softmax
  triad watch ./my_norm`,
		Args: one("one name"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := opfolder.Create(args[0], from, a.files); err != nil {
				var u *op.UsageError
				if errors.As(err, &u) {
					return err
				}
				return session.Fail(session.ExitBad, err)
			}
			return a.tellNew(filepath.Clean(args[0]))
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "start from a copy of this operator: "+
		strings.Join(catalog.Names(), ", "))
	return cmd
}

// tellNew says what was made and what to do with it.
func (a *app) tellNew(path string) error {
	name := filepath.Base(path)
	if !filepath.IsAbs(path) && !strings.HasPrefix(path, "..") {
		path = "." + string(os.PathSeparator) + path
	}
	_, err := fmt.Fprintf(a.out, `%[1]s holds a working operator:

  %[2]s.toml  what it is: sizes, tensors, contracts, shapes to judge
  %[2]s.py    its truth, a torch function that runs in fp64; and rows of torch or Triton
  %[2]s.cu    its CUDA kernels

Judge it:

  triad compare %[1]s
`, path, name)
	if err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	return nil
}
