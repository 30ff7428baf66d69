package pybridge

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"triad/internal/backend"
	"triad/internal/worker"
)

// Backend returns the adapter for Triton and PyTorch. The rows of Triton and those of PyTorch run in two
// parallel processes; on a GPU torch.compile's have a third: while they compile, the others of torch go on.
// If the caller sets Spread, judged rows are compiled in so many processes. cacheDir holds the unpacked
// Python files and the caches of Triton and Inductor.
func Backend(e *Environment, cacheDir string, options worker.Options) *worker.Adapter {
	if options.Limits == (worker.Limits{}) {
		options.Limits = worker.DefaultLimits
	}
	if e.GPU && options.Limits.CallLeast == worker.DefaultLimits.CallLeast {
		// a later call may compile too: another dtype, another block size
		options.Limits.CallLeast = options.Limits.First
	}
	var slots []string
	if e.GPU { // without one the rows of Triton may well be all that a few cores have to do
		slots = []string{"torch", "triton", compileSlot}
	}
	return &worker.Adapter{
		BackendName: "python",
		FamilyNames: append([]string{"triton", "torch"}, PeerFamilies...),
		Optional:    PeerFamilies,
		GPU:         e.GPU,
		Slots:       slots,
		Alone:       []string{peersSlot},
		Options:     options,
		Command: func(ctx context.Context) (worker.Command, error) {
			i, err := e.Ensure(ctx)
			if err != nil {
				return worker.Command{}, err
			}
			return e.command(i, cacheDir, "worker/worker.py")
		},
		Slot: func(implementation string) string {
			switch {
			case strings.HasPrefix(implementation, "triton/"):
				return "triton"
			case e.GPU && strings.HasPrefix(implementation, compileSlot):
				return compileSlot
			case slices.Contains(PeerFamilies, family(implementation)):
				return peersSlot // what they import takes seconds, and stays out of the others' way
			}
			return "torch"
		},
	}
}

func family(implementation string) string {
	name, _, _ := strings.Cut(implementation, "/")
	return name
}

// peersSlot is the slot of the peers' rows.
const peersSlot = "peers"

// compileSlot is the prefix of the rows of torch.compile, and the slot that they run in.
const compileSlot = "torch/compile"

// TruthBackend returns the adapter of the second truth: a process that runs no candidate.
func TruthBackend(e *Environment, cacheDir string, options worker.Options) *worker.Adapter {
	return &worker.Adapter{
		BackendName: "truth",
		Options:     options,
		Command: func(ctx context.Context) (worker.Command, error) {
			i, err := e.Ensure(ctx)
			if err != nil {
				return worker.Command{}, err
			}
			return e.command(i, cacheDir, "truth/truth.py")
		},
		Slot: func(string) string { return "truth" },
	}
}

// scriptAt is the index of the script in the arguments of a command.
const scriptAt = 3

func (e *Environment) command(i Interpreter, cacheDir, script string) (worker.Command, error) {
	root, err := unpack(e.Files, cacheDir)
	if err != nil {
		return worker.Command{}, err
	}
	device := "cpu"
	if e.GPU {
		device = "gpu"
	}
	env := append(inherited(e.getenv()),
		"TRIAD_DEVICE="+device,
		"TRITON_CACHE_DIR="+filepath.Join(cacheDir, "triton"),
		"TORCHINDUCTOR_CACHE_DIR="+filepath.Join(cacheDir, "inductor"),
		// Inductor's probe of the vector unit compiles for a minute and gains nothing here
		"TORCHINDUCTOR_VEC_ISA_OK=0",
		// NumPy multiplies the tiles of the interpreter, which are small: its threads would cost a third of a
		// run waiting for each other
		"OPENBLAS_NUM_THREADS=1",
		"PYTHONNOUSERSITE=1")
	if peers := e.HavePeers(i); peers != "" {
		env = append(env, "TRIAD_PEERS="+peers, "QUACK_CACHE_DIR="+filepath.Join(cacheDir, "quack"),
			"DG_JIT_CACHE_DIR="+filepath.Join(cacheDir, "deepgemm"),
			"FLASH_ATTENTION_CUTE_DSL_CACHE_ENABLED=1", "FLASH_ATTENTION_CUTE_DSL_CACHE_DIR="+
				filepath.Join(cacheDir, "fa4"))
	}
	if cutile := e.HaveCutile(i); cutile != "" {
		env = append(env, "TRIAD_CUTILE="+cutile)
	}
	env = append(env, "CUDA_TILE_CACHE_DIR="+filepath.Join(cacheDir, "cutile"))
	if e.GPU {
		// else each of our processes starts others that import torch to compile for it
		env = append(env, "TORCHINDUCTOR_COMPILE_THREADS=1", "TRIAD_GPUS="+strconv.Itoa(max(1, e.GPUs)))
	} else if e.getenv()("OMP_NUM_THREADS") == "" {
		// cases judged on a CPU are small: torch's threads spend most of a run waiting for each other
		env = append(env, "OMP_NUM_THREADS=1")
	}
	return worker.Command{Path: i.Path, Env: env, Args: []string{
		"-u", "-X", "faulthandler", filepath.Join(root, "pybridge", script),
		"--operators", filepath.Join(root, "triton"),
	}}, nil
}

// inherited returns the part of our environment that a worker sees: what compilers, loaders and locales need,
// and none of the user's secrets.
func inherited(getenv func(string) string) []string {
	var env []string
	for _, name := range []string{
		"PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH",
		"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CC", "CXX",
		"OMP_NUM_THREADS", "XDG_CACHE_HOME", "USER", "LOGNAME",
	} {
		if v := getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// unpack writes the embedded Python files into a folder named by their content, once.
func unpack(files fs.FS, cacheDir string) (string, error) {
	names, err := pythonFiles(files)
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	content := map[string][]byte{}
	for _, name := range names {
		if content[name], err = fs.ReadFile(files, name); err != nil {
			return "", fmt.Errorf("read the embedded %s: %w", name, err)
		}
		fmt.Fprintf(hash, "%s %d\n", name, len(content[name]))
		hash.Write(content[name])
	}
	root := filepath.Join(cacheDir, "python-"+hex.EncodeToString(hash.Sum(nil)[:6]))
	if holds(root, content) {
		return root, nil
	}
	// A kernel may have written into it: its contents run in the next worker, and judge the next kernel.
	if err := errors.Join(os.RemoveAll(root), os.MkdirAll(cacheDir, 0o755)); err != nil {
		return "", backend.UnusableCache("Python files", cacheDir, err)
	}
	partial, err := os.MkdirTemp(cacheDir, "python-partial-")
	if err != nil {
		return "", backend.UnusableCache("Python files", cacheDir, err)
	}
	defer os.RemoveAll(partial)
	for name, text := range content {
		path := filepath.Join(partial, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return "", backend.UnusableCache("Python files", cacheDir, err)
		}
		if err := os.WriteFile(path, text, 0o444); err != nil {
			return "", backend.UnusableCache("Python files", cacheDir, err)
		}
	}
	if err := os.Rename(partial, root); err != nil && !holds(root, content) {
		// if it exists, another process was first, with the same content
		return "", backend.UnusableCache("Python files", cacheDir, err)
	}
	return root, nil
}

// holds reports whether a folder has every file with its content.
func holds(root string, content map[string][]byte) bool {
	for name, want := range content {
		have, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil || !bytes.Equal(have, want) {
			return false
		}
	}
	return true
}

func pythonFiles(files fs.FS) ([]string, error) {
	var names []string
	for _, pattern := range []string{"pybridge/*/*.py", "triton/*.py"} {
		found, err := fs.Glob(files, pattern)
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", pattern, err)
		}
		names = append(names, found...)
	}
	slices.Sort(names)
	return names, nil
}
