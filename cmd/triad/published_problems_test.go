package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"github.com/rogpeppe/go-internal/txtar"

	"triad/internal/judgeloop"
	"triad/internal/need"
	"triad/internal/problem"
	"triad/internal/session"
)

// publishedFunction holds a function that each format has a problem of. Right is a submission's body; New in
// place of Old makes it wrong.
type publishedFunction struct{ Name, Body, Right, Old, New, Size string }

const publishedFolder = "testdata/published"

// TestTenProblemsOfEachFormat: of each format whose submissions are files of Python alone or of CUDA, ten
// problems are imported, and of each a right submission is right and a wrong one wrong. The suites
// test_problem_flashinfer, test_problem_puzzles and test_problem_robust have ten of the others.
func TestTenProblemsOfEachFormat(t *testing.T) {
	need.Tool(t, "bwrap")
	testPython(t)
	text, err := os.ReadFile(filepath.Join(publishedFolder, "functions.toml"))
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ Function []publishedFunction }
	if err := toml.Unmarshal(text, &all); err != nil || len(all.Function) != 10 {
		t.Fatalf("%d functions, %v", len(all.Function), err)
	}
	for _, format := range []string{"kernelbench", "leetgpu", "tensara", "gpumode", "deck"} {
		t.Run(format, func(t *testing.T) {
			need.Covers(t, "", slices.Concat(need.Python, []string{
				"internal/problem", "internal/judgeloop", publishedFolder,
			})...)
			archive, err := txtar.ParseFile(filepath.Join(publishedFolder, format+".txtar"))
			if err != nil {
				t.Fatal(err)
			}
			folder, last := t.TempDir(), len(archive.Files)-1
			for _, f := range all.Function {
				filled := strings.NewReplacer("NAME", f.Name, "BODY", f.Body, "SIZE", f.Size)
				for _, file := range archive.Files[:last] {
					writeFiles(t, folder, filled.Replace(string(file.Data)), filled.Replace(file.Name))
				}
			}
			judgePublished(t, format, folder, string(archive.Files[last].Data), all.Function)
		})
	}
}

// judgePublished imports the problems in a folder, and judges a right and a wrong submission to each.
func judgePublished(t *testing.T, format, folder, submission string, functions []publishedFunction) {
	t.Helper()
	var jobs, out, said bytes.Buffer
	into := filepath.Join(folder, "here")
	a := newApp(strings.NewReader(""), &out, &said)
	problems := filepath.Join(folder, "problems")
	code := a.execute([]string{"import", format, problems, "--into", into, "--offline"})
	if code != session.ExitGood || said.Len() > 0 {
		t.Fatalf("exit %d\n%s", code, &said)
	}
	found, err := problem.List(problems, format)
	if err != nil || len(found) != len(functions) {
		t.Fatalf("%d problems, %v", len(found), err)
	}
	for _, f := range functions {
		i := slices.IndexFunc(found, func(p problem.Problem) bool {
			return strings.Contains(p.Operator, f.Name)
		})
		wrong := strings.Replace(f.Right, f.Old, f.New, 1)
		if wrong == f.Right || i < 0 {
			t.Fatalf("%+v", f)
		}
		for _, body := range []string{f.Right, wrong} {
			line, err := json.Marshal(map[string]any{
				"id": f.Name, "problem": filepath.Join(into, found[i].Operator),
				"candidate": map[string]string{"text": strings.ReplaceAll(submission, "BODY", body)},
			})
			if err != nil {
				t.Fatal(err)
			}
			jobs.Write(append(line, '\n'))
		}
	}
	out.Reset()
	a = newApp(&jobs, &out, &said)
	code = a.execute([]string{"judge", "--stdin", "--device", "cpu", "--offline"})
	if code != session.ExitGood {
		t.Fatalf("exit %d\n%s", code, &said)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2*len(functions) {
		t.Fatalf("%d results for %d functions", len(lines), len(functions))
	}
	for i, line := range lines {
		var r judgeloop.Result
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if right := i%2 == 0; r.Error || r.Right != right || !right && r.Verdict != "FAIL" {
			t.Errorf("want right %v: %s", right, line)
		}
	}
}

const reluProblem = `import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)


rows = 24
cols = 40


def get_inputs():
    return [torch.randn(rows, cols)]
`

// TestThreeCommandsToAVerdict: those that docs/problems.md begins with lead from an empty folder to a
// verdict, from a repository in the place of KernelBench's.
func TestThreeCommandsToAVerdict(t *testing.T) {
	python := testPython(t)
	need.Tool(t, "bwrap")
	need.Tool(t, "git")
	t.Run("as written", func(t *testing.T) {
		need.Covers(t, "three commands", slices.Concat(need.Python, []string{
			"internal/problem", "docs/problems.md",
		})...)
		page, err := os.ReadFile("../../docs/problems.md")
		if err != nil {
			t.Fatal(err)
		}
		folder := t.TempDir()
		upstream, here := filepath.Join(folder, "KernelBench"), filepath.Join(folder, "here")
		writeFiles(t, upstream, reluProblem, "KernelBench/level1/19_ReLU.py")
		right := strings.NewReplacer("Model", "ModelNew", "torch.relu(x)", "torch.where(x > 0, x, 0.0)")
		writeFiles(t, here, right.Replace(reluProblem), "my_relu.py")
		commands := []string{
			"git init -q " + upstream, "git -C " + upstream + " add .",
			"git -C " + upstream + " -c user.name=a -c user.email=a@b commit -qm 1",
		}
		const url = "https://github.com/ScalingIntelligence/KernelBench"
		_, rest, _ := strings.Cut(string(page), "\n\n    git clone "+url+"\n")
		block, _, _ := strings.Cut(rest, "\n\n")
		commands = append(commands, "git clone -q "+upstream)
		for line := range strings.Lines(block) {
			commands = append(commands, strings.TrimSpace(line))
		}
		if len(commands) != 6 {
			t.Fatalf("%q", commands)
		}
		var out []byte
		for _, command := range commands {
			cmd := exec.Command("sh", "-c", command)
			cmd.Dir = here
			cmd.Env = append(os.Environ(), "TRIAD_PYTHON="+python, "TRIAD_DB="+filepath.Join(folder, "r.db"))
			if out, err = cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", command, err, out)
			}
		}
		if !strings.Contains(string(out), "my_relu.py") || !strings.Contains(string(out), "0 bad") {
			t.Errorf("%s", out)
		}
	})
}
