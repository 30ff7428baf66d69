// Package added reads what is said of the files that a user adds to a run: --add with its files, folders,
// patterns and lists, and the flags that say how they are called.
package added

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"triad/cuda/build"
	"triad/internal/confine"
	"triad/internal/op"
	"triad/internal/ownfile"
	"triad/internal/ownfile/binding"
	"triad/internal/ownkernels"
)

// Flags holds the flags that add a user's own kernels to a run.
type Flags struct {
	Add, NVCCFlags      []string
	Mapped              []string
	Grid, Block, Shared string
	Contract            string
	Sandbox, NoSandbox  bool
	Write               bool              // write the line that says how a function is read above it
	Box                 confine.Confining // makes a worker run in the sandbox, once it is found
	Database            string            // the database of the results; "": the user's own
	Many                bool              // add had a folder, a pattern or a list
	Stems               map[string]string // of the words of add, as Stems gives them
	Root                string            // the folder with the files of another machine
}

func (f *Flags) Options(o op.Options) (binding.Options, error) {
	options := binding.Options{
		Map: map[string]string{}, DTypes: o.DTypes, Dims: o.Dims, Attrs: o.Attributes, Grid: f.Grid,
		Block: f.Block, Shared: f.Shared, Contract: f.Contract,
	}
	for _, word := range f.Mapped {
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
func (f *Flags) compilerFlags() ([]string, error) {
	words := build.SplitFlags(strings.Join(f.NVCCFlags, " "))
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

// Check rejects flags for files if none is added. impls are those of --impl, operators the number of those
// that are judged; folder reports whether the operator is the user's own.
func (f *Flags) Check(impls []string, operators int, folder bool) error {
	speaks := len(f.Mapped)+len(f.NVCCFlags) > 0 || f.Grid+f.Block+f.Shared+f.Contract != ""
	own := func(impl string) bool {
		return impl == ownkernels.Family || strings.HasPrefix(impl, ownkernels.Family+"/")
	}
	none := len(f.Add) == 0 && !folder
	switch {
	case f.Sandbox && f.NoSandbox:
		return op.Usagef("--sandbox and --no-sandbox exclude each other")
	case none && (f.Sandbox || f.NoSandbox):
		return op.Usagef("--sandbox and --no-sandbox speak of files that --add names")
	case none && f.Write:
		return op.Usagef("--write speaks of a file that --add names")
	case none && speaks:
		return op.Usagef("--map, --contract, --grid, --block, --shared and --nvcc-flags speak of a file " +
			"that --add names")
	case none && slices.ContainsFunc(impls, own):
		return op.Usagef("--impl %s: no file of your own is here; name it with --add FILE",
			strings.Join(impls, ","))
	case !none && operators != 1:
		return op.Usagef("--add speaks of one operator: name the one that the file implements")
	}
	return nil
}

// Confined reports whether the added files run in a sandbox.
func (f *Flags) Confined() bool { return (f.Sandbox || f.Many) && !f.NoSandbox }

// Words returns the flags as a session keeps them: files by absolute path, then the flags for them.
func (f *Flags) Words() []string {
	var all []string
	for _, text := range f.Add {
		if r, err := ownfile.ParseRequest(text); err == nil {
			if abs, err := filepath.Abs(r.Path); err == nil {
				text = strings.TrimPrefix(abs, f.Root) + strings.TrimPrefix(text, r.Path)
			}
		}
		all = append(all, text)
	}
	for _, m := range f.Mapped {
		all = append(all, "--map="+m)
	}
	if flags, err := f.compilerFlags(); err == nil && len(flags) > 0 {
		all = append(all, "--nvcc-flags="+build.JoinFlags(flags))
	}
	for name, value := range map[string]string{
		"grid": f.Grid, "block": f.Block, "shared": f.Shared, "contract": f.Contract,
	} {
		if value != "" {
			all = append(all, "--"+name+"="+value)
		}
	}
	slices.Sort(all[len(f.Add):])
	return all
}

// StemsOf maps each word of --add that names a file to its part of the name of an implementation.
func StemsOf(words []string) map[string]string {
	var files, paths []string
	for _, word := range words {
		if r, err := ownfile.ParseRequest(word); err == nil && !strings.HasPrefix(word, "--") {
			files, paths = append(files, word), append(paths, Absolute(r.Path))
		}
	}
	stems := map[string]string{}
	for i, stem := range binding.Stems(paths) {
		stems[files[i]] = stem
	}
	return stems
}

// WordsOfFile returns the words of a session that concern one added file: the file, and the flags for all.
func WordsOfFile(impl string, added []string) []string {
	var all []string
	stems := StemsOf(added)
	for _, word := range added {
		r, err := ownfile.ParseRequest(word)
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
