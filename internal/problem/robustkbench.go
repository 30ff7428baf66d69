package problem

import (
	"path/filepath"
	"regexp"

	"triad/internal/userfile"
)

// robustKBench is the format of robust-kbench: a folder with func_forward.py, which has class Model, whose
// forward calls forward_fn, and config_forward.json, which holds the arguments of both. A submission is a
// file of Python with forward_fn, or one of CUDA that is an extension of torch.
type robustKBench struct{}

func (robustKBench) Name() string { return "robust-kbench" }

func (robustKBench) Endings() []string { return []string{".py"} }

// robustConfig holds the arguments next to func_forward.py.
const robustConfig = "config_forward.json"

var hasForwardFunction = regexp.MustCompile(`(?m)^def forward_fn\s*\(`)

func (robustKBench) Parts(path string, text []byte) []string {
	return whole(filepath.Base(path) == "func_forward.py" && hasModel.Match(text) &&
		hasForwardFunction.Match(text) &&
		userfile.IsRegular(filepath.Join(filepath.Dir(path), robustConfig)))
}

// Operator returns robust_kbench_layernorm for layernorm/func_forward.py, and robust_kbench_level_1_task_23
// for level_1/task_23/func_forward.py.
func (robustKBench) Operator(path, _ string) string {
	words := []string{"robust_kbench"}
	if absolute, err := filepath.Abs(path); err == nil {
		task := filepath.Dir(absolute)
		if set := filepath.Base(filepath.Dir(task)); level.MatchString(set) {
			words = append(words, set)
		}
		words = append(words, filepath.Base(task))
	}
	return operatorName(words...)
}

// Files returns both files.
func (robustKBench) Files(path string, _ []byte) (map[string]string, string) {
	const first = "problem.py"
	return map[string]string{
		first: path, robustConfig: filepath.Join(filepath.Dir(path), robustConfig),
	}, first
}

func (robustKBench) Entry() string { return "forward_fn" }

// Packed returns that of extensions of torch.
func (robustKBench) Packed() string { return ".cu" }
