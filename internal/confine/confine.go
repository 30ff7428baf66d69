// Package confine makes the workers of added files run in a sandbox: it says what each sees, and keeps the
// library that is built in one.
package confine

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"triad/internal/sandbox"
	"triad/internal/worker"
)

// Confining makes a worker run in a sandbox that shows the files and folders of sees; builds reports whether
// the worker builds a library.
type Confining = func(a *worker.Adapter, builds bool, sees []string)

// machineOf describes what the sandboxes of this machine need to know of it; built is the folder of
// libraries.
type Machine struct {
	Box          *sandbox.Sandbox
	Cache, Built string
	GPU          bool
	Seen         []string // files and folders that every worker sees
	Masked       []string // files that no worker reads
	First        bool     // a worker is the first process of its sandbox: see sandbox.Box
}

// Confine returns what makes a worker run in a sandbox.
func (m *Machine) Confine() Confining {
	return func(adapter *worker.Adapter, builds bool, sees []string) {
		start := adapter.Command
		adapter.Command = func(ctx context.Context) (worker.Command, error) {
			c, err := start(ctx)
			if err != nil {
				return c, err
			}
			inside := sandbox.Box{
				Empty: []string{m.Cache, m.Built}, Masked: below(sees, m.Masked), First: m.First,
			}
			inside.ReadOnly = append(inside.ReadOnly, m.Seen...)
			inside.ReadOnly = append(inside.ReadOnly, unpackedIn(m.Cache, c.Args)...)
			inside.ReadOnly = append(inside.ReadOnly, installationOf(c.Path)...)
			inside.ReadOnly = append(inside.ReadOnly, pythonPath(c.Env)...)
			inside.ReadOnly = append(inside.ReadOnly, compilersOf(c.Env)...)
			inside.ReadOnly = append(inside.ReadOnly, specsIn(c.Args)...)
			inside.ReadOnly = append(inside.ReadOnly, sees...)
			if m.GPU {
				inside.Devices, _ = filepath.Glob("/dev/nvidia*")
			}
			if builds {
				library := kept{m.Built, keptName(c, sees)}
				inside.ReadOnly = append(inside.ReadOnly, library.found()...)
				if err := library.takeFrom(&c); err != nil {
					return c, err
				}
			}
			c.Path, c.Args = m.Box.Wrap(c.Path, c.Args, inside)
			c.Env = append(c.Env, sandbox.Environment()...)
			c.Most, c.Boxed = sandbox.Most, true
			return c, nil
		}
	}
}

// FilesOfDatabase returns a database and the files that SQLite and its sessions keep next to it; none of them
// need be there.
func FilesOfDatabase(path string) (_ []string, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	all := []string{path}
	for _, end := range []string{"-wal", "-shm", "-journal", "-sessions"} {
		all = append(all, path+end)
	}
	return all, nil
}

// FoldersIn returns the folders in a folder.
func FoldersIn(folder string) (all []string) {
	entries, _ := os.ReadDir(folder) // what cannot be read is not shown
	for _, e := range entries {
		if e.IsDir() {
			all = append(all, filepath.Join(folder, e.Name()))
		}
	}
	return all
}

// unpackedIn returns the folders of the cache with triad's own Python that a worker's arguments name: only
// one of several versions, since each visible folder takes time at every start.
func unpackedIn(cache string, args []string) (all []string) {
	for _, arg := range args {
		inside, err := filepath.Rel(cache, arg)
		if name, _, _ := strings.Cut(inside, "/"); err == nil && strings.HasPrefix(name, "python-") &&
			!slices.Contains(all, filepath.Join(cache, name)) {
			all = append(all, filepath.Join(cache, name))
		}
	}
	return all
}

// specsIn returns the specs of operators outside the catalog that a worker's arguments name.
func specsIn(args []string) (all []string) {
	for i, arg := range args[1:] {
		if args[i] == "--spec" {
			all = append(all, arg)
		}
	}
	return all
}

// installationOf returns the folders of a program outside the system: its own, and for a Python environment
// that of the Python it was made with.
func installationOf(path string) []string {
	folder := filepath.Dir(path)
	if filepath.Base(folder) != "bin" {
		return []string{path}
	}
	root := filepath.Dir(folder)
	if _, err := os.Stat(filepath.Join(root, "pyvenv.cfg")); err != nil {
		return []string{path}
	}
	all := []string{root}
	if text, err := os.ReadFile(filepath.Join(root, "pyvenv.cfg")); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, _ := strings.Cut(line, "="); strings.TrimSpace(name) == "home" {
				if bin := strings.TrimSpace(value); filepath.Dir(bin) != "/" &&
					!strings.HasPrefix(bin, "/usr/") {
					all = append(all, filepath.Dir(bin))
				}
			}
		}
	}
	return all
}

// compilersOf returns the folders of the compilers that a worker's environment names: Triton compiles its
// launchers with CC, and torch extensions with CXX and the toolkit of CUDA_HOME.
func compilersOf(env []string) (all []string) {
	for _, word := range env {
		name, value, _ := strings.Cut(word, "=")
		switch fields := strings.Fields(value); {
		case len(fields) == 0 || !filepath.IsAbs(fields[0]):
		case name == "CC" || name == "CXX":
			all = append(all, treeOf(fields[0]))
		case name == "CUDA_HOME" || name == "CUDA_PATH":
			if home, _ := os.UserHomeDir(); filepath.Clean(value) != "/" && filepath.Clean(value) != home {
				all = append(all, value)
			}
		}
	}
	return all
}

// treeOf returns the folder that a program is installed in with its libraries, /opt/gcc for /opt/gcc/bin/gcc;
// the program alone if that is a folder of the system or the user's home.
func treeOf(path string) string {
	root := filepath.Dir(filepath.Dir(path))
	home, _ := os.UserHomeDir()
	if filepath.Base(filepath.Dir(path)) != "bin" || root == "/" || root == home {
		return path
	}
	return root
}

// pythonPath returns the folders of the user's PYTHONPATH.
func pythonPath(env []string) (all []string) {
	for _, word := range env {
		if path, is := strings.CutPrefix(word, "TRIAD_USER_PYTHONPATH="); is {
			for _, folder := range filepath.SplitList(path) {
				if filepath.IsAbs(folder) {
					all = append(all, folder)
				}
			}
		}
	}
	return all
}

// below returns the files that lie in one of the folders.
func below(folders, files []string) (all []string) {
	for _, file := range files {
		for _, folder := range folders {
			if strings.HasPrefix(file, strings.TrimSuffix(folder, "/")+"/") {
				all = append(all, file)
			}
		}
	}
	return all
}
