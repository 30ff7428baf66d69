package ownkernels

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"

	"triad/cuda/build"
	"triad/internal/backend"
	"triad/internal/fileversion"
	"triad/internal/harmless"
	"triad/internal/ownfile/shim"
	"triad/internal/userfile"
)

// writePython puts the operator file that calls a .py where the worker finds it: in a folder of the cache
// whose name depends on the request and not on the contents, so that the next version of the file uses the
// same folder.
func (f *File) writePython(code string) error {
	f.source = fileversion.Hash(nil, f.Path)
	operator := f.interpretation.Spec.Name
	asked := fmt.Sprintf("%s %+v", f.interpretation.Request, f.interpretation.Options)
	folder, err := f.shimFolder(f.Path + "\x00" + operator + "\x00" + asked)
	if err != nil {
		return err
	}
	f.shim = filepath.Join(folder, operator+".py")
	if err := f.writeWhole(f.shim, code); err != nil {
		return err
	}
	f.adapter = f.interpretation.Workers.Python(folder)
	f.adapter.BackendName, f.adapter.FamilyNames = f.Name, []string{Family}
	f.adapter.Slot, f.adapter.Slots = func(string) string { return Family }, nil
	f.confine(false, folder, packageOf(f.Path))
	return nil
}

// writeCUDA puts the code that calls a .cu where the builder finds it: in a folder of the cache whose name
// depends on that code.
func (f *File) writeCUDA() error {
	flags := f.interpretation.Options.Flags
	if beside := "-I" + filepath.Dir(f.Path); f.inline != "" && !slices.Contains(flags, beside) {
		flags = slices.Concat(flags, []string{beside}) // the copy lies elsewhere
	}
	code := func(include string) string {
		return build.FlagsLine(flags) + shim.CUDAShim(include, f.Name, f.Bindings)
	}
	headers := build.HeaderFolders(flags)
	f.source = fileversion.Hash(headers, f.Path)
	folder, err := f.shimFolder(f.Path + "\x00" + code("") + f.inline)
	if err != nil {
		return err
	}
	lies := f.Path
	if f.inline != "" {
		f.inlineAt = filepath.Join(folder, includable(f.Path)+".cu")
		lies = f.inlineAt
		if err := f.writeWhole(lies, f.inline); err != nil {
			return err
		}
	}
	// The builder lays files out as they lie on disk, so that a relative path finds the file there too.
	include, err := filepath.Rel(folder, lies)
	if err != nil {
		return fmt.Errorf("write the code that calls %s: %w", f.Name, err)
	}
	stem := strings.TrimSuffix(includable(f.Path), filepath.Ext(f.Path))
	f.shim = filepath.Join(folder, stem+".triad.cu")
	if err := f.writeWhole(f.shim, code(filepath.ToSlash(include))); err != nil {
		return err
	}
	f.adapter = f.interpretation.Workers.CUDA()
	f.adapter.BackendName, f.adapter.FamilyNames = f.Name, []string{Family}
	f.adapter.Slot = func(string) string { return Family }
	f.adapter.Names = func(string) string { return f.shim }
	sees := slices.Concat(headers, []string{f.Path, folder}, includedFrom(f.Path, headers))
	f.confine(true, sees...)
	return nil
}

// includable returns the name of a file in the form that an #include can express.
func includable(path string) string { return harmless.Name(filepath.Base(path), `"\\`) }

// includedFrom returns the files that a .cu includes from its own folder or from header folders.
func includedFrom(path string, headers []string) (all []string) {
	shown := userfile.Within(append([]string{filepath.Dir(path)}, headers...)...)
	for _, header := range fileversion.Included(path, headers) {
		if shown.Hold(header.Path) { // the rest may be secret
			all = append(all, header.Path)
		}
	}
	return all
}

// Beside returns the additional files that are needed to judge a file on another machine: what a .cu includes
// from its folder, and the Python files of the package or folder of a .py.
func Beside(path string) (all []string, err error) {
	if filepath.Ext(path) != ".py" {
		return includedFrom(path, nil), nil
	}
	err = filepath.WalkDir(packageOf(path), func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && name != packageOf(path):
			return filepath.SkipDir
		case d.Type().IsRegular() && filepath.Ext(name) == ".py" && name != path:
			all = append(all, name)
		}
		return nil
	})
	return all, err
}

// confine makes the worker of the file run in a sandbox, if that is requested.
func (f *File) confine(builds bool, sees ...string) {
	if f.interpretation.Workers.Confine != nil {
		f.interpretation.Workers.Confine(f.adapter, builds, sees)
	}
}

// packageOf returns the folder of a Python file, or if that is a package, the folder of the outermost one.
func packageOf(path string) string {
	folder := filepath.Dir(path)
	for {
		if _, err := os.Stat(filepath.Join(folder, "__init__.py")); err != nil ||
			folder == filepath.Dir(folder) {
			return folder
		}
		folder = filepath.Dir(folder)
	}
}

// shimFolder creates the folder of the cache that a key names.
func (f *File) shimFolder(key string) (string, error) {
	sum := sha256.Sum256([]byte(key))
	folder := filepath.Join(f.interpretation.Workers.Cache, "own", hex.EncodeToString(sum[:8]))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", backend.UnusableCache("the code that calls "+f.Name, folder, err)
	}
	return folder, nil
}

// writeWhole replaces a file of the cache atomically: another run may read it at the same time.
func (f *File) writeWhole(path, text string) error {
	folder := filepath.Dir(path)
	if err := renameio.WriteFile(path, []byte(text), 0o644, renameio.WithTempDir(folder)); err != nil {
		return backend.UnusableCache("the code that calls "+f.Name, folder, err)
	}
	return nil
}
