package pybridge

import (
	"context"
	"io/fs"
	"os/exec"
	"path/filepath"
	"time"

	"triad/internal/backend"
	"triad/internal/subprocess"
)

// RayVersion is the Ray that `triad --on ray` is tested with.
const RayVersion = "2.60.0"

// rayImports is the timeout of importing ray.
const rayImports = time.Minute

// RayEngine returns the path of the program that hands tasks to a Ray cluster (internal/fleet).
func RayEngine(files fs.FS, cacheDir string) (string, error) {
	root, err := unpack(files, cacheDir)
	return filepath.Join(root, "pybridge", "fleet", "ray_engine.py"), err
}

// PythonWithRay returns the first interpreter that imports ray: that of TRIAD_PYTHON, of the active
// environment, python3. The error is a *backend.Unavailable.
func PythonWithRay(ctx context.Context, getenv func(string) string) (string, error) {
	candidates := []string{getenv("TRIAD_PYTHON")}
	for _, name := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
		if root := getenv(name); root != "" {
			candidates = append(candidates, filepath.Join(root, "bin", "python"))
		}
	}
	for _, name := range append(candidates, "python3") {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		_, err = subprocess.Run(ctx, subprocess.Command{
			Path: path, Args: []string{"-c", "import ray; ray.__version__"}, Deadline: rayImports,
		})
		if err == nil {
			return path, nil
		}
	}
	return "", &backend.Unavailable{
		Sentence: "--on ray: neither TRIAD_PYTHON nor the active environment nor python3 imports ray: pip " +
			"install ray==" + RayVersion + ", in the environment of the cluster's nodes too",
	}
}
