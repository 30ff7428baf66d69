package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"triad/internal/fleetrun"
	"triad/internal/need"
	"triad/pybridge"
)

// rayPython returns a Python with ray: an existing one, or an environment that pip makes.
func rayPython(t *testing.T) string {
	t.Helper()
	if path, err := pybridge.PythonWithRay(t.Context(), os.Getenv); err == nil {
		return path
	}
	folder := t.TempDir()
	python := filepath.Join(folder, "bin", "python")
	for _, words := range [][]string{
		{need.Tool(t, "python3"), "-m", "venv", folder},
		{python, "-m", "pip", "install", "-q", "ray==" + pybridge.RayVersion},
	} {
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", words, err, out)
		}
	}
	return python
}

// TestRay: a Ray cluster of three nodes runs the shards, and the union has the results of a single run:
// undisturbed, and while nodes are killed one after the other.
func TestRay(t *testing.T) {
	need.Long(t, "a Ray cluster of three nodes, several minutes")
	python := rayPython(t)
	t.Setenv("TRIAD_PYTHON", "")
	t.Setenv("VIRTUAL_ENV", filepath.Dir(filepath.Dir(python)))
	cluster, err := filepath.Abs(filepath.Join("testdata", "ray_cluster.py"))
	if err != nil {
		t.Fatal(err)
	}
	r := slurmRun{T: t, triad: triadBinary(t), dir: t.TempDir()}
	if out, err := r.command("whole.db").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := r.verdicts("whole.db")
	for db, seconds := range map[string]string{"fleet.db": "0", "killed.db": "3"} {
		run := r.command(db, "--on", "ray:@ADDRESS@", "--shards", "5")
		run.Args = append([]string{python, cluster, "3", seconds}, run.Args...)
		run.Path = python
		out, err := run.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", db, err, out)
		}
		if killed := !strings.Contains(string(out), "killed 0 nodes"); killed != (seconds != "0") {
			t.Errorf("%s: %s", db, out)
		}
		if seconds == "0" && !strings.Contains(string(out), " 3 parts at once") {
			t.Errorf("%s: three nodes of one core run three of five parts at once\n%s", db, out)
		}
		if got := r.verdicts(db); got != want {
			t.Errorf("%s: %d lines, one run has %d", db, strings.Count(got, "\n"), strings.Count(want, "\n"))
		}
	}
}

// TestRayFiles: a Ray cluster of four nodes judges a folder of files while nodes are killed: each file is
// judged once and ends as it should. The files that it includes travel with it.
func TestRayFiles(t *testing.T) {
	need.Long(t, "a Ray cluster of four nodes, a minute")
	python := rayPython(t)
	t.Setenv("TRIAD_PYTHON", "")
	t.Setenv("VIRTUAL_ENV", filepath.Dir(filepath.Dir(python)))
	cluster, err := filepath.Abs(filepath.Join("testdata", "ray_cluster.py"))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	right := candidatesOf(t, folder, 60)
	header, err := os.ReadFile(filepath.Join("testdata", "candidates", "block.cu"))
	if err != nil {
		t.Fatal(err)
	}
	writeFiles(t, folder, string(header), "rows/row.cuh")
	writeFiles(t, folder, "#include \"row.cuh\"\n", "rows/included.cu")
	right[filepath.Join(folder, "rows", "included.cu")] = true
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	db := filepath.Join(t.TempDir(), "r.db")
	began := time.Now()
	run := exec.Command(python, cluster, "4", "15", triadBinary(t), "compare", judgedOperator, "--quick",
		"--device", "cpu", "--json", "--dims", "rows=5,cols=33", "--db", db, "--on", "ray:@ADDRESS@", "--add",
		folder)
	if len(right) < fleetrun.FilesATask*4 {
		run.Args = append(run.Args, "--shards", "12")
	}
	var said strings.Builder
	run.Stderr = &said
	lines, _ := run.Output()
	if code := run.ProcessState.ExitCode(); code != 1 {
		t.Errorf("exit code %d, want 1: some files are wrong\n%s", code, &said)
	}
	judgedAsTheyAre(t, db, string(lines), right)
	travelled, _ := filepath.Glob(filepath.Join(cache, "triad", "ray", "files-*", folder, "rows", "row.cuh"))
	if len(travelled) != 1 {
		t.Errorf("the header lies in %q of the nodes", travelled)
	}
	took := time.Since(began).Seconds()
	t.Logf("%d files in %.0f s, %.2f a second; %s", len(right), took, float64(len(right))/took,
		strings.TrimSpace(said.String()))
}

// TestOnIsRefused: a machine without ray says how to install it, and an unknown engine is answered with those
// that exist.
func TestOnIsRefused(t *testing.T) {
	t.Setenv("TRIAD_PYTHON", "")
	t.Setenv("VIRTUAL_ENV", "")
	t.Setenv("CONDA_PREFIX", "")
	triad := triadBinary(t)
	t.Setenv("PATH", filepath.Dir(triad))
	for _, c := range []struct {
		flags []string
		code  int
		says  string
	}{
		{[]string{"--on", "ray"}, 3, "pip install ray==" + pybridge.RayVersion},
		{[]string{"--on", "rays"}, 2, "want slurm, ray, or ray:ADDRESS"},
		{[]string{"--on", "ray", "--slurm", "--partition=all"}, 2, "a flag of --on slurm"},
		{[]string{"--on", "ray", "--shards", "0"}, 2, "--shards 0"},
	} {
		args := append(
			[]string{
				"compare", judgedOperator, "--quick", "--impl", "cuda", "--device", "cpu", "--db",
				filepath.Join(t.TempDir(), "r.db"),
			},
			c.flags...)
		out, err := exec.Command(triad, args...).CombinedOutput()
		var code int
		if exit, is := err.(*exec.ExitError); is {
			code = exit.ExitCode()
		}
		if code != c.code || !strings.Contains(string(out), c.says) {
			t.Errorf("%v: exit code %d, want %d and %q\n%s", c.flags, code, c.code, c.says, out)
		}
	}
}
