package gpuworker

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"triad/internal/backend"
	"triad/internal/need"
)

// headers finds the toolkit's cuda.h where "triad setup --nvcc" put it, or in CUDA_HOME.
func headers(t *testing.T) string {
	t.Helper()
	var places []string
	for _, environment := range need.NVCCFolders(t) {
		found, _ := filepath.Glob(filepath.Join(environment, "lib", "python3*", "site-packages", "nvidia",
			"cu13", "include"))
		places = append(places, found...)
	}
	if home := os.Getenv("CUDA_HOME"); home != "" {
		places = append(places, filepath.Join(home, "include"))
	}
	for _, place := range append(places, "/usr/local/cuda/include") {
		if _, err := os.Stat(filepath.Join(place, "cuda.h")); err == nil {
			return place
		}
	}
	need.MissingSetUp(t, errors.New("no cuda.h of a toolkit is here"))
	return ""
}

// root returns the module's folder.
func root(t *testing.T) string {
	t.Helper()
	folder, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// The worker builds without GPU and driver, needs only the driver's library and libc from the system, and
// says in a sentence what is missing.
func TestBuildWithoutDriver(t *testing.T) {
	include := headers(t)
	out := filepath.Join(t.TempDir(), Binary)
	if err := Build(t.Context(), root(t), include, out); err != nil {
		t.Fatal(err)
	}
	needed, err := exec.Command(need.Tool(t, "readelf"), "-d", out).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(needed), "\n") {
		if strings.Contains(line, "NEEDED") && !strings.Contains(line, "libcuda.so.1") &&
			!strings.Contains(line, "libc.so.6") {
			t.Errorf("the worker wants another library: %s", line)
		}
	}
	if !strings.Contains(string(needed), "libcuda.so.1") {
		t.Error("the worker is not linked to the driver's library")
	}
	if _, err := os.Stat("/dev/nvidiactl"); err == nil {
		t.Skip("a driver is here: what is said without one cannot be seen")
	}
	_, err = Ask(t.Context(), out, []string{"PATH=" + os.Getenv("PATH")})
	if sentence := missing(t, err); !strings.Contains(sentence, "driver") ||
		!strings.Contains(sentence, "install") {
		t.Errorf("without a driver: %q", sentence)
	}
}

// missing returns the sentence of a *backend.Unavailable.
func missing(t *testing.T, err error) string {
	t.Helper()
	var u *backend.Unavailable
	if !errors.As(err, &u) {
		t.Fatalf("got %v, want a backend.Unavailable", err)
	}
	return u.Sentence
}

// script makes a worker from a shell script.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), Binary)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAsk(t *testing.T) {
	good := script(t,
		`[ "$1" = --facts ] && echo '{"gpus":[{"name":"NVIDIA H200","memory_bytes":150754820096,`+
			`"major":9,"minor":0,"pci":"00000000:1B:00.0"}],"release":"580.95.05","cuda":13000}'`)
	f, err := Ask(t.Context(), good, nil)
	if err != nil || len(f.GPUs) != 1 ||
		f.GPUs[0] != (GPU{"NVIDIA H200", 150754820096, 9, 0, "00000000:1B:00.0"}) ||
		f.Release != "580.95.05" {
		t.Errorf("got %+v, %v", f, err)
	}
	for _, c := range []struct{ name, script, want string }{
		{
			"no library",
			`echo "$0: error while loading shared libraries: libcuda.so.1: cannot open shared object ` +
				`file" >&2; exit 127`, "driver is not installed",
		},
		{
			"no GPU",
			`echo 'Error in initialization, please refer to "https://x" for details on: NoDevice'; ` +
				`exit 1`, "finds no GPU",
		},
		{
			"mismatch", `echo 'Error in initialization, please refer to "https://x" for details on: ` +
				`SystemDriverMismatch'; exit 1`, "different versions",
		},
		{
			"full", `echo "triad-cuda: use the GPU NVIDIA H200: CUDA error 2, out of memory" >&2; exit 1`,
			"which processes hold it",
		},
		{
			"exclusive",
			`echo "triad-cuda: use the GPU NVIDIA H200: CUDA error 46, the GPU is busy or unavailable" ` +
				`>&2; exit 1`, "compute mode is exclusive",
		},
		{
			"broken",
			`echo "triad-cuda: use the GPU NVIDIA H200: CUDA error 214, uncorrectable ECC error" ` +
				`>&2; exit 1`, "nvidia-smi shows its state",
		},
		{
			"unknown",
			`echo 'Error in initialization, please refer to "https://x" for details on: ` +
				`UnknownErrorCode:34'; exit 1`, "does not start: UnknownErrorCode:34",
		},
		{
			"too old", `echo '{"gpus":[{"name":"NVIDIA A100"}],"release":"535.54.03","cuda":12020}'`,
			"driver 535.54.03 speaks CUDA 12.2, triad needs 13.0",
		},
		{"hidden", `echo '{"gpus":[],"cuda":13000}'`, "shows no GPU"},
		{"something else", `echo hello`, "another version"},
		{"dies", `echo "out of luck" >&2; exit 3`, "exited 3; it printed: out of luck"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Ask(t.Context(), script(t, c.script), nil)
			if got := missing(t, err); !strings.Contains(got, c.want) {
				t.Errorf("got %q, want it to say %q", got, c.want)
			}
		})
	}
}

// A driver that does not answer is reported, and is not waited for beyond the end of the run.
func TestAskADriverThatHangs(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := Ask(ctx, script(t, "exec sleep 1000"), []string{"PATH=" + os.Getenv("PATH")})
	if got := missing(t, err); !strings.Contains(got, "did not list its GPUs") {
		t.Errorf("%q", got)
	}
}

func TestFind(t *testing.T) {
	refuse := func(context.Context) (string,
		error,
	) {
		return "", &backend.Unavailable{Sentence: "no headers here"}
	}
	beside := script(t, "exit 0")
	p := Places{
		OwnFolder: filepath.Dir(beside), Cache: t.TempDir(), Dir: t.TempDir(), Headers: refuse,
		Log: io.Discard,
	}
	if got, err := p.Find(t.Context()); err != nil || got != beside {
		t.Errorf("beside the driver: %q, %v", got, err)
	}
	p.OwnFolder = t.TempDir()
	_, err := p.Find(t.Context())
	if got := missing(t, err); !strings.Contains(got, "go install -tags cuda") ||
		!strings.Contains(got, "CGO_CFLAGS") {
		t.Errorf("outside the module: %q", got)
	}
	p.Dir = root(t)
	_, err = p.Find(t.Context())
	if got := missing(t, err); got != "no headers here" {
		t.Errorf("inside the module, nothing built: %q", got)
	}
	key, err := sourcesOf(p.Dir)
	if err != nil {
		t.Fatal(err)
	}
	cached := filepath.Join(p.Cache, Binary+"-"+key)
	if err := os.WriteFile(cached, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := p.Find(t.Context()); err != nil || got != cached {
		t.Errorf("in the cache: %q, %v", got, err)
	}
}
