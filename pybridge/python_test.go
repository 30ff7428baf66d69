package pybridge

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"triad"
	"triad/internal/need"
)

// TestPython runs the Python side's own tests, each file in a process of its own, in the interpreter that triad would use.
func TestPython(t *testing.T) {
	e := &Environment{Files: triad.Files, DataDir: need.DataDir(t), Offline: true}
	i, err := e.Find(t.Context())
	if err != nil {
		need.MissingSetUp(t, err)
	}
	files, err := filepath.Glob("tests/test_*.py")
	if err != nil || len(files) == 0 {
		t.Fatalf("no Python tests: %v", err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), i.Path, "-m", "unittest", "-v", filepath.Base(file))
			cmd.Dir = "tests"
			cmd.Env = append(os.Environ(), "TRIAD_DEVICE=cpu", "TORCHINDUCTOR_VEC_ISA_OK=0", "PYTHONDONTWRITEBYTECODE=1",
				"TORCHINDUCTOR_CACHE_DIR="+filepath.Join(cache, "triad", "inductor"))
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			need.Unittest(t, string(out))
		})
	}
}
