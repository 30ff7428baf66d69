package pybridge

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"triad"
	"triad/internal/need"
)

// TestPython runs the Python side's own tests and those of the operators' rows, each file in a process of its
// own, in the interpreter that triad would use.
func TestPython(t *testing.T) {
	e := &Environment{Files: triad.Files, DataDir: need.DataDir(t), Offline: true}
	i, err := e.Find(t.Context())
	if err != nil {
		need.MissingSetUp(t, err)
	}
	var files []string
	for _, pattern := range []string{"tests/test_*.py", "../internal/catalog/*/test_*.py"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("no Python tests %s: %v", pattern, err)
		}
		files = append(files, found...)
	}
	tests, err := filepath.Abs("tests")
	if err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		if folder := filepath.Base(filepath.Dir(file)); folder != "tests" {
			name = folder + "/" + name // of an operator's room
		}
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), i.Path, "-m", "unittest", "-v", filepath.Base(file))
			cmd.Dir = filepath.Dir(file)
			cmd.Env = append(os.Environ(), "PYTHONPATH="+tests, "TRIAD_DEVICE=cpu",
				"TORCHINDUCTOR_VEC_ISA_OK=0", "OPENBLAS_NUM_THREADS=1", "OMP_NUM_THREADS=1",
				"PYTHONDONTWRITEBYTECODE=1",
				"TORCHINDUCTOR_CACHE_DIR="+filepath.Join(cache, "triad", "inductor"))
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			need.Unittest(t, string(out))
		})
	}
}
