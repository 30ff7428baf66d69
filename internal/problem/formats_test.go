package problem

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const puzzles = `
def test(kernel, spec, nelem={}, B={"B0": 32}):
    pass


def sum_spec(x: Float32[Tensor, "4 200"]) -> Float32[Tensor, "4"]:
    return x.sum(1)

test(sum_kernel, sum_spec, B={"B0": 1}, nelem={"N0": 4})
`

// TestPuzzlesOfANotebook: each line test() of a notebook is a problem of its own, with the code of the
// notebook as its file.
func TestPuzzlesOfANotebook(t *testing.T) {
	folder := t.TempDir()
	cells, err := json.Marshal(map[string]any{"cells": []any{
		map[string]any{"cell_type": "markdown", "source": []string{"test(a_kernel, a_spec)\n"}},
		map[string]any{"cell_type": "code", "source": []string{"%%capture\n", "!pip install jaxtyping"}},
		map[string]any{"cell_type": "code", "source": strings.SplitAfter(puzzles, "\n")},
		map[string]any{"cell_type": "code", "source": "test(sum_kernel, sum_spec)\n" +
			"test(dot_kernel, dot_spec, nelem={})"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	book := wrote(t, filepath.Join(folder, "Puzzles.ipynb"), string(cells))
	found, err := List(folder, "triton-puzzles")
	if err != nil || len(found) != 2 || found[0].Operator != "triton_puzzles_sum" ||
		found[0].Part != "sum_spec" || found[1].Operator != "triton_puzzles_dot" {
		t.Fatalf("%+v, %v", found, err)
	}
	source, err := read(t.Context(), found[1])
	if err != nil {
		t.Fatal(err)
	}
	request := source.request(found[1])
	code := request.Files["problem.py"]
	if request.Part != "dot_spec" || !strings.Contains(code, "x.sum(1)") || strings.Contains(code, "pip") ||
		strings.Contains(code, "a_spec") {
		t.Errorf("%+v", request)
	}
	wrote(t, book, "[]")
	if found, err := List(folder, ""); err != nil || len(found) != 0 {
		t.Errorf("a file that is no notebook: %+v, %v", found, err)
	}
	if found, err := List(wrote(t, filepath.Join(folder, "code.py"), puzzles), ""); err != nil ||
		len(found) != 1 || found[0].Format != "triton-puzzles" {
		t.Errorf("the code of a notebook: %+v, %v", found, err)
	}
}

// TestDefinitionHasItsWorkloads: the workloads of a definition lie in a folder next to that of the
// definitions. Other JSON is no problem.
func TestDefinitionHasItsWorkloads(t *testing.T) {
	folder := t.TempDir()
	text := `{"name": "norm_h64", "op_type": "norm", "axes": {"rows": {"type": "var"}},
	  "inputs": {"x": {"shape": ["rows"], "dtype": "float32"}},
	  "outputs": {"y": {"shape": ["rows"], "dtype": "float32"}}, "reference": "def run(x):\n    return x"}`
	path := wrote(t, filepath.Join(folder, "definitions", "norm", "norm_h64.json"), text)
	wrote(t, filepath.Join(folder, "workloads", "norm", "norm_h64.jsonl"), `{"workload": {}}`+"\n")
	wrote(t, filepath.Join(folder, "package.json"), `{"name": "norm", "version": "1"}`)
	found, err := List(folder, "")
	if err != nil || len(found) != 1 || found[0].Operator != "flashinfer_norm_h64" {
		t.Fatalf("%+v, %v", found, err)
	}
	source, err := read(t.Context(), found[0])
	if err != nil || len(source.Files) != 2 || string(source.Files["definition.json"]) != text {
		t.Errorf("%+v, %v", source, err)
	}
	if err := os.RemoveAll(filepath.Join(folder, "workloads")); err != nil {
		t.Fatal(err)
	}
	if source, err = read(t.Context(), found[0]); err != nil || len(source.Files) != 1 {
		t.Errorf("without workloads: %+v, %v", source, err)
	}
	if files, _ := (flashInfer{}).Files(path, nil); len(files) != 1 {
		t.Errorf("%v", files)
	}
}

// TestTaskIsAFolder: a task of robust-kbench has the form of a problem of KernelBench, and is none.
func TestTaskIsAFolder(t *testing.T) {
	folder := t.TempDir()
	task := wrote(t, filepath.Join(folder, "level_1", "task_23", "func_forward.py"),
		"def forward_fn(x):\n    return x\n\n\n"+model)
	if found, err := List(folder, ""); err != nil || len(found) != 0 {
		t.Errorf("without its arguments: %+v, %v", found, err)
	}
	wrote(t, filepath.Join(filepath.Dir(task), robustConfig), "{}")
	found, err := List(folder, "")
	if err != nil || len(found) != 1 || found[0].Format != "robust-kbench" ||
		found[0].Operator != "robust_kbench_level_1_task_23" {
		t.Fatalf("%+v, %v", found, err)
	}
	if source, err := read(t.Context(), found[0]); err != nil || len(source.Files) != 2 {
		t.Errorf("%+v, %v", source, err)
	}
}

// TestPackedSubmissions: of some formats a submission is also a file of another kind, and of the puzzles each
// names what a submission defines.
func TestPackedSubmissions(t *testing.T) {
	for _, c := range []struct {
		plan   Plan
		path   string
		packed bool
		entry  string
	}{
		{Plan{Format: "triton-puzzles", OwnEntry: "sum_kernel"}, "a.ipynb", true, "sum_kernel"},
		{Plan{Format: "flashinfer"}, "a.json", true, "run"},
		{Plan{Format: "robust-kbench"}, "a.cu", true, "forward_fn"},
		{Plan{Format: "kernelbench"}, "a.json", false, "ModelNew"},
		{Plan{Format: "kernelbench"}, "a", false, "ModelNew"},
		{Plan{Format: "triton-puzzles", OwnEntry: "sum_kernel"}, "a.py", false, "sum_kernel"},
	} {
		if c.plan.Packs(c.path) != c.packed || c.plan.Entry() != c.entry {
			t.Errorf("%+v %s: packed %v, entry %q", c.plan, c.path, c.plan.Packs(c.path), c.plan.Entry())
		}
	}
}

// TestEachFormatHasItsModules: what calls the problems and submissions of a format, and what describes them,
// are files of its name.
func TestEachFormatHasItsModules(t *testing.T) {
	for _, f := range formats {
		for _, kind := range []string{"problem_", "problem_describe_"} {
			name := kind + strings.TrimPrefix(moduleOf(f.Name()), "problem_") + ".py"
			text, err := os.ReadFile(filepath.Join("..", "..", "pybridge", "problems", name))
			if err != nil {
				t.Errorf("%s: %v", f.Name(), err)
			}
			if kind == "problem_" && !strings.Contains(string(text), "\ndef trials(") {
				t.Errorf("%s has no trials(), the calls of the format's own check", name)
			}
		}
		if len(f.Endings()) == 0 || slices.Contains(f.Endings(), "") {
			t.Errorf("%s: the files of %v", f.Name(), f.Endings())
		}
	}
}
