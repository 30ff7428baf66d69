package problem

import (
	"bytes"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// gpuMode is the format of GPU MODE: a file task.yml that names the files of the problem and its tests. A
// submission is a file with a function custom_kernel.
type gpuMode struct{ plain }

func (gpuMode) Name() string { return "gpumode" }

// submissionMark stands in task.yml for the submission.
var submissionMark = []byte("@SUBMISSION@")

// Endings returns those of YAML.
func (gpuMode) Endings() []string { return []string{".yml", ".yaml"} }

func (gpuMode) Parts(path string, text []byte) []string {
	name := filepath.Base(path)
	return whole((name == "task.yml" || name == "task.yaml") && bytes.Contains(text, submissionMark))
}

// Operator returns gpumode_pmpp_vectoradd_py for pmpp/vectoradd_py/task.yml.
func (gpuMode) Operator(path, _ string) string {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "gpumode"
	}
	folder := filepath.Dir(absolute)
	return operatorName("gpumode", filepath.Base(filepath.Dir(folder)), filepath.Base(folder))
}

// fileSource finds the sources of files in task.yml, in YAML's block style as in its flow style.
var fileSource = regexp.MustCompile(`\bsource["']?\s*:\s*["']?([^"'\s,}]+)`)

// Files returns task.yml and the Python files that it names: next to it, or in a folder above. Which of them
// the problem lacks, its description says.
func (gpuMode) Files(at string, text []byte) (map[string]string, string) {
	const first = "task.yml"
	files := map[string]string{first: at}
	for _, found := range fileSource.FindAllSubmatch(text, -1) {
		source := path.Clean(string(found[1]))
		above := strings.Count(source, "../")
		name := path.Base(source)
		if path.Ext(name) != ".py" || path.IsAbs(source) || above > 2 || name == "eval.py" {
			continue
		}
		files[name] = filepath.Join(filepath.Dir(at), filepath.FromSlash(source))
	}
	return files, first
}

func (gpuMode) Entry() string { return "custom_kernel" }
