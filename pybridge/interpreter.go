package pybridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"triad/internal/subprocess"
)

// Interpreter is a Python and what is installed in it; a version is "" if the package is missing.
type Interpreter struct {
	Path string `json:"path"`
	// where it was found: "TRIAD_PYTHON", "active environment", "python3", "private environment"
	Source  string `json:"source"`
	Version string `json:"version"`
	Torch   string `json:"torch"`
	Triton  string `json:"triton"`
	NumPy   string `json:"numpy"`
	// named by TRIAD_PYTHON although its versions are outside the tested range
	Outside bool `json:"outside"`
}

// probeScript prints what is installed without importing it: importing torch takes seconds. The first folder
// with a package has its version in a name, if it is there once and as pip installs it. Otherwise
// importlib.metadata is asked, whose import takes longer than the rest.
const probeScript = `
import os, sys
def listed(folder):
    try: return os.listdir(folder)
    except OSError: return None
folders = {folder: listed(folder) for folder in sys.path}
elsewhere = any(names is None and os.path.exists(folder) or folder.endswith(".egg")
                for folder, names in folders.items())
def version(name):
    for folder, names in folders.items():
        found = [n for n in names or [] if n.lower().startswith((name + "-", name + ".")) and
                 n.endswith(("-info", ".egg-link"))]
        if found:
            number = found[0][len(name) + 1:].removesuffix(".dist-info")
            if (len(found) == 1 and found[0] == name + "-" + number + ".dist-info" and
                    os.path.isfile(os.path.join(folder, found[0], "METADATA"))):
                return number
            break
    else:
        if not elsewhere: return ""
    from importlib import metadata
    try: return metadata.version(name) or ""
    except Exception: return ""
import json
print(json.dumps({"version": "%d.%d.%d" % sys.version_info[:3],
                  **{name: version(name) for name in ("torch", "triton", "numpy")}}))
`

// probeLimit is the timeout of a probe.
const probeLimit = 20 * time.Second

// probe asks a Python for its versions.
func probe(ctx context.Context, path, source string) (Interpreter, error) {
	out, err := subprocess.Run(ctx, subprocess.Command{
		Path: path, Args: []string{"-I", "-c", probeScript},
		Deadline: probeLimit,
	})
	if err != nil {
		return Interpreter{}, fmt.Errorf("ask %s for its versions: %w", path, err)
	}
	i := Interpreter{}
	if err := json.Unmarshal([]byte(out), &i); err != nil {
		return Interpreter{}, fmt.Errorf("ask %s for its versions: it printed %.80q", path, out)
	}
	i.Path, i.Source = path, source
	return i, nil
}

// misfit returns why an interpreter cannot be used, "" if it can. The interpreter mode of Triton 3.6 needs
// NumPy below 2.4.
func (i Interpreter) misfit(gpu bool) string {
	switch {
	case !atLeast(i.Version, 3, 11):
		return "Python " + i.Version + ", want 3.11 or newer"
	case !atLeast(i.Torch, 2, 9):
		return orNone("torch", i.Torch) + ", want 2.9 or newer"
	case !atLeast(i.Triton, 3, 5):
		return orNone("triton", i.Triton) + ", want 3.5 or newer"
	case !gpu && (i.NumPy == "" || atLeast(i.NumPy, 2, 4)):
		return orNone("numpy", i.NumPy) + ", want one below 2.4 for Triton's interpreter"
	}
	return ""
}

func orNone(name, version string) string {
	if version == "" {
		return "no " + name
	}
	return name + " " + version
}

var leadingNumber = regexp.MustCompile(`^\d+`)

// atLeast compares the first two numbers of a version such as "2.11.0+cu130". An empty version is below
// everything.
func atLeast(version string, want ...int) bool {
	parts := strings.SplitN(version, ".", len(want)+1)
	for k, w := range want {
		if k >= len(parts) {
			return false
		}
		n, err := strconv.Atoi(leadingNumber.FindString(parts[k]))
		if err != nil {
			return false
		}
		if n != w {
			return n > w
		}
	}
	return true
}

// candidates returns the interpreters that may already have what is needed, in the order of preference.
func candidates(getenv func(string) string) [][2]string {
	var found [][2]string
	if venv := getenv("VIRTUAL_ENV"); venv != "" {
		found = append(found, [2]string{filepath.Join(venv, "bin", "python"), "active environment"})
	}
	if path, err := exec.LookPath("python3"); err == nil {
		found = append(found, [2]string{path, "python3"})
	}
	return found
}

// base finds a Python that can make a virtual environment: 3.11 or newer, with venv and ensurepip.
func base(ctx context.Context) (string, error) {
	var tried []string
	for _, name := range []string{"python3", "python3.13", "python3.12", "python3.11", "python3.14"} {
		path, err := exec.LookPath(name)
		if err != nil || slices.Contains(tried, path) {
			continue
		}
		tried = append(tried, path)
		i, err := probe(ctx, path, name)
		if err != nil || !atLeast(i.Version, 3, 11) {
			continue
		}
		_, err = subprocess.Run(ctx, subprocess.Command{
			Path: path, Deadline: probeLimit,
			Args: []string{"-I", "-c", "import venv, ensurepip"},
		})
		if err == nil {
			return path, nil
		}
	}
	if len(tried) == 0 {
		return "", errors.New("no python3 on the PATH: install Python 3.11 or newer with venv (Debian and " +
			"Ubuntu: apt install python3-venv), or set TRIAD_PYTHON")
	}
	return "", fmt.Errorf("none of %s is a Python 3.11 or newer with venv: install one (Debian and Ubuntu: "+
		"apt install python3-venv), or set TRIAD_PYTHON",
		strings.Join(tried, ", "))
}

// exists reports whether a file is there.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
