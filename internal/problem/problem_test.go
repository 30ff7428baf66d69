package problem

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"triad/internal/catalog"
	"triad/internal/op"
	"triad/internal/opfolder"
)

const model = `import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)


batch_size = 16


def get_inputs():
    return [torch.rand(batch_size)]
`

// described describes a problem with weights, attributes, an input of bools and a size of its output that no
// input shows.
const described = `{
  "dtypes": ["fp32"],
  "dims": [{"name": "rows", "may_be_empty": true, "empties": true}, {"name": "height"}, {"name": "of"}],
  "attributes": [{"name": "of_of", "type": "int", "default": "of"},
    {"name": "slope", "type": "float", "default": 0.1}, {"name": "kernel", "type": "int", "default": 3,
    "least": 3, "below": 4},
    {"name": "exact", "type": "bool", "default": true},
    {"name": "weights_seed", "type": "int", "default": 0, "least": 0, "draws": true}],
  "inputs": [{"name": "x", "dtype": "", "shape": ["rows", "height - 2"], "differentiable": true, "fill": ""},
    {"name": "kinds", "dtype": "bool", "shape": ["rows"], "fill": "mask"}],
  "outputs": [{"name": "y", "dtype": "", "shape": ["rows", "ceildiv(height - 1, 2)", "of"]}],
  "distributions": ["normal", "shifted", "zeros"], "quick": ["shifted"],
  "shapes": [{"rows": 5, "height": 7, "of": 3}, {"rows": 31, "height": 33, "of": 17},
    {"rows": 0, "height": 7, "of": 3}],
  "every": {"rows": 31, "height": 33, "of": 17}, "own": {"rows": 4096, "height": 4096, "of": 4096},
  "own_needs_gpu": true, "weak": ["zeros", "the input x"], "writes": ["x"], "no_gradient": "",
  "plan": {"constants": {"N": {"input": 0, "axis": 0}}, "own": {"N": 4096}}
}`

func wrote(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func answers(text string) Describe {
	return func(context.Context, Request) ([]byte, error) { return []byte(text), nil }
}

// TestImportMakesAnOperator: the folder is one that triad reads, says what the problem says, and holds the
// problem's file and its hash.
func TestImportMakesAnOperator(t *testing.T) {
	folder := t.TempDir()
	file := wrote(t, filepath.Join(folder, "level1", "19_Re-LU.py"), model)
	found, err := List(file, "")
	if err != nil || len(found) != 1 || found[0].Operator != "kernelbench_level1_19_re_lu" {
		t.Fatalf("%+v, %v", found, err)
	}
	into := filepath.Join(folder, "into", "deeper")
	done, err := Import(t.Context(), found[0], into, answers(described))
	if err != nil {
		t.Fatal(err)
	}
	f, err := opfolder.Open(done.Folder)
	if err != nil {
		t.Fatal(err)
	}
	s := f.Spec
	if f.Problem != filepath.Join(f.Dir, "problem.json") || !f.Rows || s.Backward == nil ||
		!slices.Equal(s.Backward.Outputs, []string{"grad_x"}) || len(s.Check.Shapes) != 4 ||
		s.Bench[0].Dims["height"] != 4096 || !strings.Contains(s.Source, sum([]byte(model))) {
		t.Errorf("%+v", f)
	}
	if own := s.Check.Shapes[3]; own["device"] != "gpu" || own["quick"] != nil {
		t.Errorf("the problem's own sizes, which need a GPU: %v", own)
	}
	if every := s.Check.Shapes[1]; every["all"] != true || s.Check.Shapes[0]["all"] != nil {
		t.Errorf("every distribution is met at %v", every)
	}
	for _, want := range []string{"WEAK", "zeros, and the input x", "writes into x", "on a GPU alone"} {
		if !strings.Contains(strings.Join(done.Notes, "\n"), want) {
			t.Errorf("%q says nothing of %q", done.Notes, want)
		}
	}
	copied, err := os.ReadFile(filepath.Join(done.Folder, "problem.py"))
	if err != nil || string(copied) != model {
		t.Errorf("its copy of the file: %q, %v", copied, err)
	}
	left, err := os.ReadDir(into)
	if err != nil || len(left) != 1 {
		t.Errorf("besides the operator there is something in %v: %v", left, err)
	}
}

// TestImportPinsAttributes: values of attributes that the problem uses elsewhere have shapes of their own.
func TestImportPinsAttributes(t *testing.T) {
	folder := t.TempDir()
	p := Problem{Path: wrote(t, filepath.Join(folder, "a.py"), model), Format: "kernelbench", Operator: "a_b"}
	text := strings.Replace(described, `"own_needs_gpu"`, `"own_attributes": {"slope": 3.0},
	  "pinned": [{"sizes": {"rows": 5, "height": 7, "of": 3}, "attributes": {"slope": -1.5}}],
	  "own_needs_gpu"`, 1)
	done, err := Import(t.Context(), p, folder, answers(text))
	if err != nil {
		t.Fatal(err)
	}
	f, err := opfolder.Open(done.Folder)
	if err != nil {
		t.Fatal(err)
	}
	shapes := f.Spec.Check.Shapes
	if len(shapes) != 5 || shapes[3]["slope"] != -1.5 || shapes[3]["quick"] != true ||
		shapes[4]["slope"] != 3.0 || shapes[4]["device"] != "gpu" ||
		f.Spec.Bench[0].Attributes["slope"] != 3.0 {
		t.Errorf("shapes %v, bench %v", shapes, f.Spec.Bench)
	}
}

// TestImportAgain: what is there of the same file is left as it is and asks for no description; another file
// does not replace it.
func TestImportAgain(t *testing.T) {
	folder := t.TempDir()
	p := Problem{Path: wrote(t, filepath.Join(folder, "a.py"), model), Format: "kernelbench", Operator: "a_b"}
	if _, err := Import(t.Context(), p, folder, answers(described)); err != nil {
		t.Fatal(err)
	}
	again, err := Import(t.Context(), p, folder, answers("no description"))
	if err != nil || !again.Already {
		t.Errorf("the same file: %+v, %v", again, err)
	}
	wrote(t, p.Path, model+"# another\n")
	if _, err = Import(t.Context(), p, folder, answers(described)); err == nil ||
		!strings.Contains(err.Error(), "is there already, and not of this file") {
		t.Errorf("another file: %v", err)
	}
}

// TestImportRefuses: without a usable description nothing is left behind, and the reason is given.
func TestImportRefuses(t *testing.T) {
	folder := t.TempDir()
	p := Problem{Path: wrote(t, filepath.Join(folder, "a.py"), model), Format: "kernelbench", Operator: "a_b"}
	for text, want := range map[string]string{
		`{"refused": "its reference needs a GPU."}`: "its reference needs a GPU",
		"":                         "ended without a description",
		"{}":                       "is incomplete",
		strings.Repeat(" ", 2<<20): "want at most",
		strings.Replace(described, `"ceildiv(height - 1, 2)"`, `"heigth"`, 1): "makes no operator",
	} {
		if _, err := Import(t.Context(), p, folder, answers(text)); err == nil ||
			!strings.Contains(err.Error(), want) || strings.HasSuffix(err.Error(), ".") ||
			strings.Contains(err.Error(), folder) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
	binary := p
	binary.Path = wrote(t, filepath.Join(t.TempDir(), "b.py"), model+"\x00")
	if _, err := Import(t.Context(), binary, folder, answers(described)); err == nil ||
		err.Error() != "it is no Python: line 14 has a byte 0" {
		t.Errorf("a byte 0: %v", err)
	}
	left, err := os.ReadDir(folder)
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	p.Operator = catalog.Names()[0]
	if _, err := Import(t.Context(), p, folder, answers(described)); err == nil ||
		!strings.Contains(err.Error(), "is an operator that triad has") {
		t.Errorf("the name of one of triad's: %v", err)
	}
}

// TestList: problems are found below a folder by what their files hold; hidden folders, links and other files
// are none.
func TestList(t *testing.T) {
	folder := t.TempDir()
	wrote(t, filepath.Join(folder, "level1", "1_A.py"), model)
	wrote(t, filepath.Join(folder, "level2", "1_A.py"), "\n"+model)
	wrote(t, filepath.Join(folder, ".git", "1_B.py"), model)
	wrote(t, filepath.Join(folder, "notes.txt"), model)
	other := wrote(t, filepath.Join(folder, "other.py"), "def get_inputs():\n    return []\n")
	if err := os.Symlink(other, filepath.Join(folder, "level1", "link.py")); err != nil {
		t.Fatal(err)
	}
	found, err := List(folder, "kernelbench")
	if err != nil || len(found) != 2 || found[0].Operator != "kernelbench_level1_1_a" ||
		found[1].Operator != "kernelbench_level2_1_a" {
		t.Errorf("%+v, %v", found, err)
	}
	challenge := wrote(t, filepath.Join(folder, "hard", "12_Two-Words", "challenge.py"),
		"class Challenge(ChallengeBase):\n    def get_solve_signature(self):\n        return {}\n")
	if found, err := List(challenge, ""); err != nil || found[0].Format != "leetgpu" ||
		found[0].Operator != "leetgpu_hard_12_two_words" {
		t.Errorf("a challenge: %+v, %v", found, err)
	}
	shape := wrote(t, filepath.Join(folder, "hard", "problems-h100", "01_Sum", "shapes.py"),
		"SHAPES = []\n")
	reference := wrote(t, filepath.Join(filepath.Dir(shape), "reference.py"), model)
	if found, err := List(reference, ""); err != nil || found[0].Format != "kernelbench" {
		t.Errorf("a deck without its problem.yaml: %+v, %v", found, err)
	}
	wrote(t, filepath.Join(filepath.Dir(shape), "problem.yaml"), "name: 01_sum\n")
	found, err = List(filepath.Join(folder, "hard", "problems-h100"), "")
	if err != nil || len(found) != 1 || found[0].Format != "deck" ||
		found[0].Operator != "deck_hard_h100_01_sum" {
		t.Errorf("a deck: %+v, %v", found, err)
	}
	wrote(t, reference, "class Model:\n    def step(self):\n        return 0\n")
	if found, err := List(filepath.Dir(reference), ""); err != nil || len(found) != 1 ||
		found[0].Format != "deck" {
		t.Errorf("a deck without get_inputs, of which its import says so: %+v, %v", found, err)
	}
	for _, c := range []struct{ path, format, says string }{
		{filepath.Join(folder, "nowhere"), "", "there is no such file or folder"},
		{folder, "tritonbench", `there is no format "tritonbench": want one of deck, kernelbench, leetgpu`},
		{other, "", "holds no problem of a format that triad imports: deck, kernelbench, leetgpu, tensara"},
	} {
		_, err := List(c.path, c.format)
		var u *op.UsageError
		if !errors.As(err, &u) || !strings.Contains(u.Message, c.says) {
			t.Errorf("%s %s: %v, want %q", c.format, c.path, err, c.says)
		}
	}
	if found, err := List(t.TempDir(), ""); err != nil || len(found) != 0 {
		t.Errorf("an empty folder: %v, %v", found, err)
	}
}
