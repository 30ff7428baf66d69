package pybridge

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"triad"
	"triad/internal/backend"
	"triad/internal/worker"
)

// The peers are installed once, outside the interpreter: nothing but the list, hashes checked; without a
// network from a folder of wheels.
func TestPeers(t *testing.T) {
	e, _ := fakeEnvironment(t)
	e.Files.(fstest.MapFS)["requirements-peers.txt"] = &fstest.MapFile{Data: []byte("liger-kernel==0.8.5\n")}
	i, err := e.Ensure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	command := func() string {
		c, err := e.command(i, filepath.Join(t.TempDir(), "cache"), "worker/worker.py")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(c.Env, "\n")
	}
	if e.HavePeers(i) != "" || strings.Contains(command(), "TRIAD_PEERS") {
		t.Error("peers before they were installed")
	}
	var missing *backend.Unavailable
	e.Offline = true
	if _, err := e.Peers(t.Context(), i, ""); !errors.As(err, &missing) ||
		!strings.Contains(err.Error(), "--wheels") {
		t.Errorf("offline: %v", err)
	}
	wheels := t.TempDir()
	if _, err := e.Peers(t.Context(), i, wheels); !errors.As(err, &missing) ||
		!strings.Contains(err.Error(), "holds no wheels") {
		t.Errorf("no wheels: %v", err)
	}
	write(t, filepath.Join(wheels, "liger_kernel-0.8.5-py3-none-any.whl"), "a wheel")
	dir, err := e.Peers(t.Context(), i, wheels)
	if err != nil || filepath.Dir(dir) != e.DataDir || !strings.HasSuffix(dir, "-3.11") {
		t.Fatalf("%q, %v", dir, err)
	}
	arguments, err := os.ReadFile(filepath.Join(dir, "arguments"))
	for _, want := range []string{
		"--no-deps", "--require-hashes", "--only-binary :all:",
		"--no-index --find-links " + wheels,
	} {
		if err != nil || !strings.Contains(string(arguments), want) {
			t.Errorf("%v: no %q in %q", err, want, arguments)
		}
	}
	before := installs(t)
	if again, err := e.Peers(t.Context(), i, ""); err != nil || again != dir || installs(t) != before {
		t.Errorf("a second time: %q, %v, %d installations", again, err, installs(t)-before)
	}
	if e.HavePeers(i) != dir || !strings.Contains(command(), "TRIAD_PEERS="+dir) {
		t.Error("the worker does not know them")
	}
	if freed, err := e.Remove(t.Context()); err != nil || freed == 0 || exists(dir) {
		t.Errorf("removed: %d bytes, %v", freed, err)
	}
}

// TestPeersRunAlone: the rows of peers and of cuTile share no process with triad's own, so that none is
// started ahead for them.
func TestPeersRunAlone(t *testing.T) {
	for _, gpu := range []bool{false, true} {
		e, _ := fakeEnvironment(t)
		e.GPU = gpu
		b := Backend(e, t.TempDir(), worker.Options{})
		for _, family := range b.Families() {
			if got := b.Spreads(family); got == slices.Contains(PeerFamilies, family) {
				t.Errorf("gpu %v: %s is spread: %v", gpu, family, got)
			}
		}
	}
}

// TestCutile: cuTile has a folder of its own, which workers get by name and setup removes with the others.
func TestCutile(t *testing.T) {
	e, _ := fakeEnvironment(t)
	e.Files.(fstest.MapFS)["requirements-cutile.txt"] = &fstest.MapFile{Data: []byte("cuda-tile==1.7.0\n")}
	i, err := e.Ensure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	e.Offline = true
	var missing *backend.Unavailable
	if _, err := e.Cutile(t.Context(), i, ""); !errors.As(err, &missing) ||
		!strings.Contains(err.Error(), "cuTile: --wheels") {
		t.Errorf("offline: %v", err)
	}
	wheels := t.TempDir()
	write(t, filepath.Join(wheels, "cuda_tile-1.7.0-cp311-cp311-manylinux2014_x86_64.whl"), "a wheel")
	dir, err := e.Cutile(t.Context(), i, wheels)
	if err != nil || !strings.HasPrefix(filepath.Base(dir), "cutile-") || e.HavePeers(i) != "" {
		t.Fatalf("%q, %v, peers %q", dir, err, e.HavePeers(i))
	}
	c, err := e.command(i, filepath.Join(t.TempDir(), "cache"), "worker/worker.py")
	if err != nil || !slices.Contains(c.Env, "TRIAD_CUTILE="+dir) {
		t.Errorf("the worker does not know it: %v, %q", err, c.Env)
	}
	if _, err := e.Remove(t.Context()); err != nil || e.HaveCutile(i) != "" {
		t.Errorf("it was not removed: %v", err)
	}
}

// The three wheels of cuTile's compiler have one version, below 13.5, and cuda-tile a hash for each Python.
func TestCutileIsPinned(t *testing.T) {
	text, err := triad.Files.ReadFile("requirements-cutile.txt")
	if err != nil {
		t.Fatal(err)
	}
	versions, hashes := map[string]string{}, map[string]int{}
	name := ""
	for line := range strings.Lines(string(text)) {
		if n, version, pinned := strings.Cut(line, "=="); pinned && !strings.HasPrefix(line, "#") {
			name = n
			versions[name], _, _ = strings.Cut(version, " ")
		} else if strings.Contains(line, "--hash=sha256:") {
			hashes[name]++
		}
	}
	compiler := versions["nvidia-cuda-tileiras"]
	if !strings.HasPrefix(compiler, "13.4.") || versions["nvidia-cuda-nvcc"] != compiler ||
		versions["nvidia-nvvm"] != compiler {
		t.Errorf("the compiler's wheels: %v", versions)
	}
	if len(versions) != 4 || hashes["cuda-tile"] != 4 || len(hashes) != 4 {
		t.Errorf("%v, %v: want a hash of cuda-tile for each of CPython 3.11 to 3.14", versions, hashes)
	}
}

// Every peer's requirement is pinned, and so is every compiled one for each Python that there is.
func TestPeersArePinned(t *testing.T) {
	text, err := triad.Files.ReadFile("requirements-peers.txt")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	hashes := map[string]int{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if name, version, pinned := strings.Cut(line, "=="); pinned && version != "" {
			names = append(names, name)
		} else if strings.HasPrefix(line, "--hash=sha256:") {
			hashes[names[len(names)-1]]++
		} else if line != "" && !strings.HasPrefix(line, "#") {
			t.Errorf("%q is not pinned", line)
		}
	}
	for _, compiled := range []string{
		"apache-tvm-ffi", "torch-c-dlpack-ext", "nvidia-cutlass-dsl-libs-base",
		"nvidia-cutlass-dsl-libs-cu13",
	} {
		if hashes[compiled] < 4 {
			t.Errorf("%s has %d hashes, want one for each of CPython 3.11 to 3.14", compiled,
				hashes[compiled])
		}
	}
	for _, name := range []string{
		"liger-kernel", "quack-kernels", "flash-attn-4", "torchao", "sgl-flash-mla", "cut-cross-entropy",
		"sgl-deep-gemm", "fla-core",
	} {
		if !slices.Contains(names, name) || hashes[name] == 0 {
			t.Errorf("%s is not there", name)
		}
	}
	for _, name := range []string{"torch", "triton", "nvidia-cutlass-dsl-libs-cu12"} {
		if slices.Contains(names, name) {
			t.Errorf("%s is the interpreter's own, or not needed", name)
		}
	}
}
