package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"

	"triad/internal/backend"
	"triad/internal/parallel"
)

// ShippedArchitectures lists the architectures for which the libraries next to the binary hold code. Their
// PTX, that of sm_80, runs on everything newer.
var ShippedArchitectures = []string{"sm_80", "sm_90a"}

// GPULibraries provides the libraries of kernel files for one GPU: the shipped one if it was built from
// exactly the requested sources, else one that nvcc builds for this GPU.
type GPULibraries struct {
	Sources      fs.FS
	Cache        string
	Shipped      string // the folder of the shipped libraries, "" for none
	Environment  string // a Python environment that may hold nvcc, "" for none
	Major, Minor int    // the GPU's compute capability

	compiler NVCC
}

// shipment is the record next to a shipped library, <op>.json: its sources and its build.
type shipment struct {
	Source string `json:"source"` // Library.Source
	SHA256 string `json:"sha256"` // of the library
	record
}

// Kernels returns the library of a kernel file, named as for Builder. The error is a *Error or a
// *backend.Unavailable if the sources or the toolchain are to blame.
func (l *GPULibraries) Kernels(ctx context.Context, file string) (Library, error) {
	library, why := l.shipped(file)
	if why == nil {
		return library, nil
	}
	b, err := l.builder(ctx)
	var missing *backend.Unavailable
	if errors.As(err, &missing) {
		return Library{}, &backend.Unavailable{Sentence: fmt.Sprintf("cannot build %s for this GPU: %s (%v)",
			KernelFile(file), missing.Sentence, why)}
	}
	if err != nil {
		return Library{}, err
	}
	return b.Kernels(ctx, file)
}

// Fits reports whether every kernel file of the sources has a shipped library for a GPU of this compute
// capability, so that no nvcc is needed.
func (l *GPULibraries) Fits() bool {
	files, err := fs.Glob(l.Sources, "cuda/kernels/*.cu")
	if runtimeIn(l.Sources) {
		files = append(files, RuntimeName+".cu")
	}
	return err == nil && !slices.ContainsFunc(files, func(file string) bool {
		_, err := l.shipped(strings.TrimSuffix(path.Base(file), ".cu"))
		return err != nil
	})
}

// shipped returns the shipped library of a file; the error says why it cannot be used.
func (l *GPULibraries) shipped(file string) (Library, error) {
	if l.Shipped == "" || strings.HasSuffix(file, ".cu") {
		return Library{}, errors.New("no library is shipped for it")
	}
	if l.Major < 8 {
		return Library{},
			fmt.Errorf("the shipped libraries begin at compute capability 8.0, the GPU has %d.%d",
				l.Major, l.Minor)
	}
	var s shipment
	text, err := os.ReadFile(filepath.Join(l.Shipped, file+".json"))
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		return Library{}, fmt.Errorf("no library is shipped for it in %s", l.Shipped)
	}
	set, err := Gather(l.Sources, KernelFile(file))
	if err != nil {
		return Library{}, err
	}
	source := set.hash((&GPUBuilder{Architectures: ShippedArchitectures}).flags())
	if s.Source != source {
		return Library{}, fmt.Errorf("the library in %s was made from other sources", l.Shipped)
	}
	name := filepath.Join(l.Shipped, file+".so")
	if sum, err := hashOf(name); err != nil || sum != s.SHA256 {
		return Library{}, fmt.Errorf("%s is not the library that was shipped", name)
	}
	facts := backend.BuildFacts{
		Compiler: s.Compiler, Flags: s.Flags, Cached: true,
		Kernels: l.mine(PtxasFacts(s.Log)),
	}
	return Library{Path: name, Source: source, Facts: facts}, nil
}

// mine keeps ptxas's figures for the code that this GPU runs.
func (l *GPULibraries) mine(facts []backend.KernelFact) []backend.KernelFact {
	arch := "sm_80"
	if l.Major == 9 {
		arch = "sm_90a"
	}
	return slices.DeleteFunc(facts, func(f backend.KernelFact) bool { return f.Arch != arch })
}

// builder finds nvcc, once.
func (l *GPULibraries) builder(ctx context.Context) (*GPUBuilder, error) {
	if l.compiler.Path == "" {
		found, err := FindNVCC(ctx, l.Environment)
		if err != nil {
			return nil, err
		}
		if oldest := l.oldestNVCC(); !found.AtLeast(oldest) {
			return nil, &backend.Unavailable{Sentence: fmt.Sprintf("%s is %s, which is too old for compute "+
				"capability %d.%d: version %d or newer is needed "+
				"(triad setup --nvcc fetches one; CUDA_HOME names another toolkit)", found.Path,
				found.Version, l.Major, l.Minor, oldest)}
		}
		l.compiler = found
	}
	return &GPUBuilder{
		Sources: l.Sources, Cache: l.Cache, Compiler: l.compiler,
		Architectures: []string{l.architecture()},
	}, nil
}

// architecture returns nvcc's name of this GPU. The letter gives the architecture-specific features of Hopper
// and its successors.
func (l *GPULibraries) architecture() string {
	letter := ""
	if l.Major >= 9 {
		letter = "a"
	}
	return fmt.Sprintf("sm_%d%d%s", l.Major, l.Minor, letter)
}

// oldestNVCC returns the first major version of nvcc that knows this GPU and the formats that the kernels
// use.
func (l *GPULibraries) oldestNVCC() int {
	if l.Major >= 10 {
		return 13
	}
	return 12
}

// Ship builds the libraries of the operators' kernel files, of all without operators, into a folder: the
// folder next to the binary on a machine without nvcc. It builds as many at once as there are cores, and ends
// at the first that cannot be built.
func Ship(ctx context.Context, sources fs.FS, cache string, compiler NVCC, folder string,
	operators ...string,
) error {
	files, err := fs.Glob(sources, "cuda/kernels/*.cu")
	if err != nil {
		return fmt.Errorf("list the kernel files: %w", err)
	}
	for i, name := range operators {
		operators[i] = "cuda/kernels/" + name + ".cu"
		if !slices.Contains(files, operators[i]) {
			return fmt.Errorf("there is no kernel file %s", operators[i])
		}
	}
	if len(operators) > 0 {
		files = operators
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("make the folder of the libraries: %w", err)
	}
	b := GPUBuilder{Sources: sources, Cache: cache, Compiler: compiler, Architectures: ShippedArchitectures}
	if runtimeIn(sources) {
		files = append(files, RuntimeName+".cu")
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	parallel.Each(len(files), func(i int) { // nvcc uses one core
		if ctx.Err() != nil {
			return
		}
		if err := b.ship(ctx, strings.TrimSuffix(path.Base(files[i]), ".cu"), folder); err != nil {
			stop(err)
		}
	})
	return context.Cause(ctx)
}

// ship puts the library of one operator into a folder. Readers see only whole files: each is renamed into
// place.
func (b *GPUBuilder) ship(ctx context.Context, name, folder string) error {
	library, err := b.Kernels(ctx, name)
	if err != nil {
		return err
	}
	made, err := readRecord(filepath.Dir(library.Path))
	if err != nil {
		return fmt.Errorf("read how %s was built: %w", library.Path, err)
	}
	binary, err := os.ReadFile(library.Path)
	if err != nil {
		return fmt.Errorf("ship the library of %s: %w", name, err)
	}
	sum := sha256.Sum256(binary)
	text, err := json.MarshalIndent(shipment{
		Source: library.Source, SHA256: hex.EncodeToString(sum[:]),
		record: made,
	}, "", " ")
	if err != nil {
		return fmt.Errorf("ship the library of %s: %w", name, err)
	}
	for ending, content := range map[string][]byte{".so": binary, ".json": text} {
		target := filepath.Join(folder, name+ending)
		if err := renameio.WriteFile(target, content, 0o644, renameio.WithTempDir(folder)); err != nil {
			return fmt.Errorf("ship the library of %s: %w", name, err)
		}
	}
	return nil
}

// SourcesHash hashes the kernel files of a set of sources with all that they include: a worker and a driver
// with the same hash agree.
func SourcesHash(sources fs.FS) string {
	files := map[string][]byte{}
	for _, folder := range []string{"cuda/kernels", "cuda/include", "cuda/runtime"} {
		if folder == "cuda/runtime" && !runtimeIn(sources) {
			continue
		}
		found, err := tree(sources, folder, ".cu", ".cuh", ".h")
		if err != nil {
			return ""
		}
		maps.Copy(files, found)
	}
	return hashFiles(files, nil)
}

func hashOf(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// RuntimeName is the name of the runtime library, cuda/runtime, as builders name it; it times calls and moves
// bytes.
const RuntimeName = "triad_runtime"

// runtimeIn reports whether sources hold the runtime library.
func runtimeIn(sources fs.FS) bool {
	_, err := fs.Stat(sources, KernelFile(RuntimeName))
	return err == nil
}
