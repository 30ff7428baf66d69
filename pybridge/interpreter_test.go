package pybridge

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"triad/internal/need"
)

// The versions in the names of folders are those of importlib.metadata.
func TestProbedVersions(t *testing.T) {
	python := need.Tool(t, "python3")
	for name, c := range map[string]struct {
		folders [][]string // of sys.path: files, made with a version of their own
		want    string
	}{
		"nothing":          {nil, ""},
		"installed by pip": {[][]string{{"torch-2.11.0+cu130.dist-info/METADATA"}}, "2.11.0+cu130"},
		"in the second":    {[][]string{{"torchgen/a"}, {"torch-2.9.1.dist-info/METADATA"}}, "2.9.1"},
		"in both": {[][]string{
			{"torch-2.10.0.dist-info/METADATA"}, {"torch-2.9.1.dist-info/METADATA"},
		}, "2.10.0"},
		"another package": {[][]string{{"torch_audio-2.9.1.dist-info/METADATA"}}, ""},
		"what pip left":   {[][]string{{"torch-2.9.1.dist-info/RECORD"}}, ""},
		"an older way":    {[][]string{{"torch.egg-info/PKG-INFO"}}, "7.7"},
	} {
		var paths []string
		for _, files := range c.folders {
			folder := t.TempDir()
			paths = append(paths, folder)
			for _, file := range files {
				path := filepath.Join(folder, file)
				version := "7.7"
				if base := filepath.Base(filepath.Dir(path)); filepath.Ext(base) == ".dist-info" {
					version = base[len("torch-") : len(base)-len(".dist-info")]
				}
				text := "Metadata-Version: 2.1\nName: torch\nVersion: " + version + "\n"
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		list, err := json.Marshal(append([]string{}, paths...))
		if err != nil {
			t.Fatal(err)
		}
		// the standard library stays behind them; what else this machine has does not
		head := "import sys\nsys.path = " + string(list) +
			" + [p for p in sys.path if 'site-packages' not in p and 'dist-packages' not in p]\n"
		asked := head + "from importlib import metadata\n" +
			"try: print(metadata.version('torch') or '', end='')\nexcept Exception: pass\n"
		says, err := exec.CommandContext(t.Context(), python, "-I", "-c", asked).Output()
		if err != nil || string(says) != c.want {
			t.Errorf("%s: importlib.metadata says %q (%v), want %q", name, says, err, c.want)
		}
		out, err := exec.CommandContext(t.Context(), python, "-I", "-c", head+probeScript).Output()
		var i Interpreter
		if err != nil || json.Unmarshal(out, &i) != nil || i.Torch != c.want {
			t.Errorf("%s: the probe says %q (%v), want %q", name, out, err, c.want)
		}
	}
}
