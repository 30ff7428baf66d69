package opfolder

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"triad"
	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/tensor"
)

// drawing answers as the process that runs references does, with as many bytes as each output has.
type drawing struct {
	backend.Backend
	asked []backend.Job
	as    string // the dtype of what it gives; "" for the one that is asked for
}

func (d *drawing) Load(context.Context, string) (backend.LoadReply, backend.HelloReply, error) {
	return backend.LoadReply{}, backend.HelloReply{}, nil
}

func (d *drawing) Run(_ context.Context, job backend.Job) (backend.Outcome, error) {
	d.asked = append(d.asked, job)
	var launch backend.LaunchOutcome
	for _, t := range job.Outputs {
		dtype := t.DType.String()
		if d.as != "" {
			dtype = d.as
		}
		launch.Outputs = append(launch.Outputs, backend.Output{
			OutputRef: backend.OutputRef{Present: true, DType: dtype, Shape: t.Shape},
			Tensor:    tensor.New("", t.DType, t.Shape),
		})
	}
	return backend.Outcome{Launches: []backend.LaunchOutcome{launch}}, nil
}

// TestDraw: the process is asked for the inputs that the spec leaves to the problem, at the sizes of the case
// and under a seed that follows from the case; another dtype is refused.
func TestDraw(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "my_op")
	if err := Create(folder, "", triad.Files); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "my_op.toml")
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), `fill = "weight"`) {
		t.Fatalf("%s: %v", text, err)
	}
	text = []byte(strings.Replace(string(text), `fill = "weight"`, `fill = "drawn"`, 1))
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := Open(folder)
	if err != nil || !f.Spec.IsDrawn() {
		t.Fatal(err)
	}
	answers := &drawing{}
	r := &Reference{Folder: f, Backend: answers, Context: t.Context()}
	c := op.Case{
		Op: "my_op", Pass: op.Forward, DType: "fp32",
		Dims: op.Dims{{Name: "rows", Value: 5}, {Name: "cols", Value: 3}},
	}
	found, err := r.Draw(c, 1)
	if err != nil || len(found) != 1 || found["weight"].Name != "weight" || len(found["weight"].Data) != 12 {
		t.Fatalf("%v, %v", found, err)
	}
	words := func(job backend.Job) string {
		var all []string
		for _, a := range job.Attrs {
			all = append(all, a.Name+"="+a.Text)
		}
		slices.Sort(all)
		return strings.Join(all, " ")
	}
	if said := words(answers.asked[0]); !strings.HasSuffix(said, "_shapes=5x3,3 _which=1") {
		t.Errorf("asked with %s", said)
	}
	if _, err = r.Draw(c, 2); err != nil || words(answers.asked[0]) == words(answers.asked[1]) {
		t.Errorf("two seeds ask alike: %v", err)
	}
	answers.as = "fp64"
	if _, err = r.Draw(c, 1); err == nil || !strings.Contains(err.Error(), "drew weight as fp64") {
		t.Errorf("another dtype: %v", err)
	}
}
