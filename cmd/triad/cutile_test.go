package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"triad/internal/need"
)

// TestCutileRows: the judge accepts the rows in cuTile on the quick cases. Torch computes what their kernels
// say, on a CPU and block by block (pybridge/tests/cutile_stand_in.py): their compiler is not asked.
func TestCutileRows(t *testing.T) {
	python := testPython(t)
	const ending = "_cutile.py"
	files, err := filepath.Glob("../../triton/*" + ending)
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	tests, err := filepath.Abs("../../pybridge/tests")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ending)
		t.Run(name, func(t *testing.T) {
			need.Covers(t, "any", slices.Concat(need.Judge, need.Operator(name), []string{
				"pybridge/tests/cutile_stand_in.py", "pybridge/operators/cutile.py",
			})...)
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			overlay := filepath.Join(t.TempDir(), "triton")
			if err := os.MkdirAll(overlay, 0o755); err != nil {
				t.Fatal(err)
			}
			stand := fmt.Sprintf("import sys\nsys.path.append(%q)\nimport cutile_stand_in\n"+
				"_KEPT = cutile_stand_in.standing()\n_KEPT.__enter__()\n", tests)
			rows := strings.NewReplacer(`"cutile/`, `"torch/`, `"cuda.tile"`, `""`).Replace(string(text))
			path := filepath.Join(overlay, name+".py")
			if err := os.WriteFile(path, []byte(stand+rows), 0o644); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("triad", "compare", name, "--impl", "torch", "--quick", "--no-timing", "--db",
				filepath.Join(t.TempDir(), "r.db"))
			cmd.Env = append(os.Environ(), "TRIAD_TEST_OVERLAY="+filepath.Dir(overlay),
				"TRIAD_PYTHON="+python)
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), " 0 bad. Exit 0") {
				t.Errorf("triad %v: %v\n%s", cmd.Args, err, out)
			}
		})
	}
}
