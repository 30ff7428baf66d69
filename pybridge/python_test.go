package pybridge

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"triad"
)

// TestPython runs the Python side's own tests, each file in a process of its own, in the interpreter that triad would use.
func TestPython(t *testing.T) {
	e := &Environment{Files: triad.Files, DataDir: dataDir(t), Offline: true}
	i, err := e.Find(t.Context())
	if err != nil {
		if os.Getenv("TRIAD_TEST_SETUP") != "" {
			t.Fatal(err)
		}
		t.Skipf("%v (make test sets it up)", err)
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
			cmd := exec.CommandContext(t.Context(), i.Path, "-m", "unittest", "-q", filepath.Base(file))
			cmd.Dir = "tests"
			cmd.Env = append(os.Environ(), "TRIAD_DEVICE=cpu", "TORCHINDUCTOR_VEC_ISA_OK=0", "PYTHONDONTWRITEBYTECODE=1",
				"TORCHINDUCTOR_CACHE_DIR="+filepath.Join(cache, "triad", "inductor"))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// dataDir is where the private environment of this user lies.
func dataDir(t *testing.T) string {
	base := os.Getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(base) {
		home, err := os.UserHomeDir()
		if err != nil {
			t.Fatal(err)
		}
		base = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(base, "triad")
}
