package runsetup

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"triad/cuda/build"
	"triad/internal/confine"
	"triad/internal/kernelfile"
	"triad/internal/op"
	"triad/internal/opfolder"
	"triad/internal/ownkernels"
	"triad/internal/record"
	"triad/internal/run"
)

// OwnFlags holds the flags that add a user's own kernels to a run.
type OwnFlags struct {
	Add, nvccFlags      []string
	mapped              []string
	grid, block, shared string
	contract            string
	sandbox, noSandbox  bool
	Write               bool              // write the line that says how a function is read above it
	Box                 confine.Confining // makes a worker run in the sandbox, once it is found
	Database            string            // the database of the results; "": the user's own
	Many                bool              // add had a folder, a pattern or a list
	Stems               map[string]string // of the words of add, as Stems gives them
	root                string            // the folder with the files of another machine
}

func (f *OwnFlags) Register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringArrayVar(&f.Add, "add", nil, "judge a file of your own beside ours: "+
		"FILE.cu[:function][@pass] or FILE.py[:function][@pass]; a folder or a pattern, e.g. 'new/**/*.cu', "+
		"adds each file in it, - those of a list on standard input: compare then judges these alone, a row "+
		"each; may be repeated")
	fs.StringSliceVar(&f.mapped, "map", nil, "with --add: what a parameter stands for, e.g. out=y,N=cols; "+
		"a line above the function says the same: // triad: OP(y=out, cols=N)")
	fs.StringArrayVar(&f.nvccFlags, "nvcc-flags", nil, "with --add of a .cu: flags for its compiler, e.g. "+
		"\"-DTILE=32 -Iinclude -use_fast_math\"; without a GPU -D, -U, -I and -std alone apply")
	fs.BoolVar(&f.sandbox, "sandbox", false, "with --add: compile and run the files in a sandbox, as those "+
		"of a folder, a pattern or a list are (docs/fleet.md)")
	fs.BoolVar(&f.noSandbox, "no-sandbox", false,
		"with --add of a folder, a pattern or a list: trust the files, and run them without a sandbox")
	fs.StringVar(&f.contract, "contract", "", "with --add: the contract that the file declares, e.g. eager "+
		"for every step in the dtype (triad ops show OP lists them)")
	fs.StringVar(&f.grid, "grid", "",
		"with --add of a lone __global__ function: its grid over the sizes, e.g. \"ceildiv(cols, 16), rows\"")
	fs.StringVar(&f.block, "block", "",
		"with --add of a lone __global__ function: its block, e.g. 256 or \"16, 16\"")
	fs.StringVar(&f.shared, "shared", "",
		"with --add of a lone __global__ function: bytes of dynamic shared memory, e.g. \"4 * cols\"")
}

func (f *OwnFlags) Options(o op.Options) (kernelfile.Options, error) {
	options := kernelfile.Options{
		Map: map[string]string{}, DTypes: o.DTypes, Dims: o.Dims, Attrs: o.Attributes, Grid: f.grid,
		Block: f.block, Shared: f.shared, Contract: f.contract,
	}
	for _, word := range f.mapped {
		name, target, ok := strings.Cut(word, "=")
		if !ok || name == "" || target == "" {
			return options, op.Usagef("--map %q: want PARAMETER=NAME, e.g. out=y", word)
		}
		options.Map[name] = target
	}
	var err error
	if options.Flags, err = f.compilerFlags(); err != nil {
		return options, err
	}
	if _, err := build.CheckFlags(options.Flags); err != nil {
		return options, op.Usagef("--nvcc-flags: %w", err)
	}
	return options, nil
}

// compilerFlags returns the words of --nvcc-flags. Folders of headers are absolute, and exist.
func (f *OwnFlags) compilerFlags() ([]string, error) {
	words := build.SplitFlags(strings.Join(f.nvccFlags, " "))
	var flags []string
	for i := 0; i < len(words); i++ {
		word := words[i]
		if word == "-I" && i+1 < len(words) {
			i++
			word += words[i]
		}
		if folder, ok := strings.CutPrefix(word, "-I"); ok && folder != "" {
			abs, err := filepath.Abs(folder)
			if err != nil {
				return nil, op.Usagef("--nvcc-flags -I%s: %w", folder, err)
			}
			if info, err := os.Stat(abs); err != nil || !info.IsDir() {
				return nil, op.Usagef("--nvcc-flags -I%s: there is no folder %s", folder, abs)
			}
			word = "-I" + abs
		}
		flags = append(flags, word)
	}
	return flags, nil
}

// Check rejects flags for files if none is added; folder is the operator's, nil if the operator is of the
// catalog.
func (f *OwnFlags) Check(request *run.Request, folder *opfolder.Folder) error {
	speaks := len(f.mapped)+len(f.nvccFlags) > 0 || f.grid+f.block+f.shared+f.contract != ""
	own := func(impl string) bool {
		return impl == ownkernels.Family || strings.HasPrefix(impl, ownkernels.Family+"/")
	}
	none := len(f.Add) == 0 && folder == nil
	switch {
	case f.sandbox && f.noSandbox:
		return op.Usagef("--sandbox and --no-sandbox exclude each other")
	case none && (f.sandbox || f.noSandbox):
		return op.Usagef("--sandbox and --no-sandbox speak of files that --add names")
	case none && f.Write:
		return op.Usagef("--write speaks of a file that --add names")
	case none && speaks:
		return op.Usagef("--map, --contract, --grid, --block, --shared and --nvcc-flags speak of a file " +
			"that --add names")
	case none && slices.ContainsFunc(request.Impls, own):
		return op.Usagef("--impl %s: no file of your own is here; name it with --add FILE",
			strings.Join(request.Impls, ","))
	case !none && len(request.Operators) != 1:
		return op.Usagef("--add speaks of one operator: name the one that the file implements")
	}
	return nil
}

// Words returns the flags as a session keeps them: files by absolute path, then the flags for them.
func (f *OwnFlags) Words() []string {
	var all []string
	for _, text := range f.Add {
		if r, err := kernelfile.ParseRequest(text); err == nil {
			if abs, err := filepath.Abs(r.Path); err == nil {
				text = strings.TrimPrefix(abs, f.root) + strings.TrimPrefix(text, r.Path)
			}
		}
		all = append(all, text)
	}
	for _, m := range f.mapped {
		all = append(all, "--map="+m)
	}
	if flags, err := f.compilerFlags(); err == nil && len(flags) > 0 {
		all = append(all, "--nvcc-flags="+build.JoinFlags(flags))
	}
	for name, value := range map[string]string{
		"grid": f.grid, "block": f.block, "shared": f.shared, "contract": f.contract,
	} {
		if value != "" {
			all = append(all, "--"+name+"="+value)
		}
	}
	slices.Sort(all[len(f.Add):])
	return all
}

// wordsOf returns the words of the flags, and the folder of the operator if it has one.
func (f *OwnFlags) wordsOf(mine *OwnFiles) []string {
	words := f.Words()
	if mine != nil && mine.Folder != nil {
		words = append(words, record.FolderWord+mine.Folder.Dir)
	}
	return words
}

// StemsOf maps each word of --add that names a file to its part of the name of an implementation.
func StemsOf(words []string) map[string]string {
	var files, paths []string
	for _, word := range words {
		if r, err := kernelfile.ParseRequest(word); err == nil && !strings.HasPrefix(word, "--") {
			files, paths = append(files, word), append(paths, Absolute(r.Path))
		}
	}
	stems := map[string]string{}
	for i, stem := range kernelfile.Stems(paths) {
		stems[files[i]] = stem
	}
	return stems
}

// WordsOfFile returns the words of a session that concern one added file: the file, and the flags for all.
func WordsOfFile(impl string, added []string) []string {
	var all []string
	stems := StemsOf(added)
	for _, word := range added {
		r, err := kernelfile.ParseRequest(word)
		r.Stem = stems[word]
		switch function, one := strings.CutPrefix(impl, r.Implementation()+":"); {
		case strings.HasPrefix(word, "--"), err == nil && r.Implementation() == impl:
			all = append(all, word)
		case err == nil && one && r.Function == "": // one of several functions of the file
			all = append(all, strings.Replace(word, r.Path, r.Path+":"+function, 1))
		}
	}
	return all
}
