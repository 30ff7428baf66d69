package pybridge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os/exec"
	"path/filepath"
	"time"

	"triad/internal/ownfile/pyparser"
	"triad/internal/sandbox"
	"triad/internal/worker"
)

// OwnBackend returns the adapter for a user's own Python file: folder has the operator file, <op>.py, that
// calls it. It runs in a process of its own, which parent forks; if parent is nil, the process imports torch
// itself.
func OwnBackend(e *Environment, cacheDir, folder string, options worker.Options,
	parent *Parent,
) *worker.Adapter {
	options.Limits = importLimits(options.Limits, e.GPU)
	adapter := inFolder(e, Backend(e, cacheDir, options), folder)
	Extensions(adapter, extensionsOf(cacheDir, folder))
	adapter.LongLoad = "what stands outside of its functions runs when it is imported: put a demonstration " +
		`under if __name__ == "__main__", or give it longer`
	if !e.GPU {
		parent.ahead(e, cacheDir)
	}
	start := adapter.Command
	adapter.Command = func(ctx context.Context) (worker.Command, error) {
		c, err := start(ctx)
		if err == nil && !e.GPU {
			c = parent.forked(c)
		}
		return c, err
	}
	return adapter
}

// Parses returns an interpreter whose parser reads a user's file: the likely one, else the python3 of the
// PATH, which needs no package, else the one that runs the file.
func (e *Environment) Parses() (string, error) {
	if python, err := exec.LookPath(e.likely()); err == nil {
		return python, nil
	}
	if python, err := pyparser.OfPATH(); err == nil {
		return python, nil
	}
	i, err := e.Ensure(context.Background())
	return i.Path, err
}

// longestImport is the default limit of the import of a user's own file without a GPU. Demonstrations at its
// end take minutes in the interpreter. On a GPU an import compiles extensions, which takes a minute each.
const longestImport = time.Minute

// importLimits returns the limits of a user's own file.
func importLimits(l worker.Limits, gpu bool) worker.Limits {
	if !gpu && l.Build == worker.DefaultLimits.Build {
		l.Build = longestImport
	}
	return l
}

// productsBy is the variable that limits the instructions of torch's products on a CPU. Those for bf16 take
// subnormal numbers for 0, which is no fault of a file that calls torch.matmul.
const productsBy = "ONEDNN_MAX_CPU_ISA"

// products returns the variable that limits the instructions of torch's products, unless the user sets it.
func (e *Environment) products() []string {
	if e.getenv()(productsBy) != "" {
		return nil
	}
	return []string{productsBy + "=AVX512_CORE"}
}

// Extensions names the folder in which a worker's file has torch compile extensions. Two files may call
// theirs the same: torch would give one the code of the other.
func Extensions(adapter *worker.Adapter, folder string) {
	start := adapter.Command
	adapter.Command = func(ctx context.Context) (worker.Command, error) {
		c, err := start(ctx)
		c.Env = append(c.Env, sandbox.ExtensionsName+"="+folder)
		return c, err
	}
}

// extensionsOf returns the folder for the extensions of the files of a folder.
func extensionsOf(cacheDir, folder string) string {
	digest := sha256.Sum256([]byte(folder))
	return filepath.Join(cacheDir, "extensions", hex.EncodeToString(digest[:8]))
}

// OwnTruthBackend returns the adapter of the truth of a user's own operator, whose file lies in folder.
func OwnTruthBackend(e *Environment, cacheDir, folder string, options worker.Options) *worker.Adapter {
	return inFolder(e, TruthBackend(e, cacheDir, options), folder)
}

func inFolder(e *Environment, adapter *worker.Adapter, folder string) *worker.Adapter {
	start := adapter.Command
	adapter.Command = func(ctx context.Context) (worker.Command, error) {
		c, err := start(ctx)
		if err == nil {
			c.Args[len(c.Args)-1] = folder // of --operators, which command puts last
			c.Env = append(c.Env, "TRIAD_USER_PYTHONPATH="+e.getenv()("PYTHONPATH"))
			c.Env = append(c.Env, e.products()...)
		}
		return c, err
	}
	return adapter
}
