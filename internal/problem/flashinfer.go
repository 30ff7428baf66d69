package problem

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"triad/internal/userfile"
)

// flashInfer is the format of FlashInfer Trace: a definition in JSON with axes, inputs, outputs and a
// reference, and its workloads, a file of JSON lines. A submission is a file of Python with a function run,
// or a solution in JSON.
type flashInfer struct{}

func (flashInfer) Name() string { return "flashinfer" }

func (flashInfer) Endings() []string { return []string{".json"} }

// definition holds what tells a definition of other JSON.
type definition struct {
	Name      string                     `json:"name"`
	Kind      string                     `json:"op_type"`
	Axes      map[string]json.RawMessage `json:"axes"`
	Outputs   map[string]json.RawMessage `json:"outputs"`
	Reference string                     `json:"reference"`
}

func (flashInfer) Parts(_ string, text []byte) []string {
	var d definition
	return whole(json.Unmarshal(text, &d) == nil && d.Name != "" && d.Kind != "" && len(d.Axes) > 0 &&
		len(d.Outputs) > 0 && d.Reference != "")
}

// Operator returns flashinfer_rmsnorm_h2048 for rmsnorm_h2048.json.
func (flashInfer) Operator(path, _ string) string {
	return operatorName("flashinfer", strings.TrimSuffix(filepath.Base(path), ".json"))
}

// Files returns the definition, and its workloads where they are: of definitions/rmsnorm/NAME.json
// workloads/rmsnorm/NAME.jsonl.
func (flashInfer) Files(path string, _ []byte) (map[string]string, string) {
	const first = "definition.json"
	files := map[string]string{first: path}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return files, first
	}
	parts := strings.Split(absolute, string(filepath.Separator))
	for i, part := range slices.Backward(parts) {
		if part == "definitions" {
			parts[i] = "workloads"
			break
		}
	}
	workloads := strings.Join(parts, string(filepath.Separator)) + "l"
	if userfile.IsRegular(workloads) {
		files["workloads.jsonl"] = workloads
	}
	return files, first
}

func (flashInfer) Entry() string { return "run" }

// Packed returns that of solutions.
func (flashInfer) Packed() string { return ".json" }
