package pybridge

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/sys/unix"

	"triad/internal/backend"
	"triad/internal/lockfile"
	"triad/internal/subprocess"
)

// parcel is something that can be installed into a virtual environment of its own: DataDir/<prefix><hash of
// the requirements>.
type parcel struct {
	name         string
	requirements string // an embedded file: pinned, with hashes
	prefix       string
	download     int64 // bytes, measured for the pinned versions
	disk         int64
}

var (
	pythonParcel = parcel{
		"the Python environment", "requirements.txt", "python-", 2_500_000_000,
		4_600_000_000,
	}
	nvccParcel = parcel{"the CUDA compiler", "requirements-cuda.txt", "nvcc-", 180_000_000, 320_000_000}
)

// Environment finds the Python that the workers run in, and makes a private one if none fits.
type Environment struct {
	Files   fs.FS  // requirements.txt, pybridge/*/*.py, triton/*.py
	DataDir string // holds the private environment: DataDir/python-<hash of requirements.txt>
	Offline bool   // never fetch
	Look    bool   // find existing environments and make none, although that is not forbidden
	GPU     bool
	GPUs    int // that a worker may use, 0: one
	// Consent is asked before anything is fetched, with a sentence that says what, how much and where to.
	// Nil: yes.
	Consent func(ctx context.Context, question string) bool
	// Interruptible returns a context that may also end a fetch, and a function that ends its use; nil: only
	// ctx ends it.
	Interruptible func(ctx context.Context) (context.Context, func())
	Log           io.Writer // progress for a person
	Getenv        func(string) string
	// Space is the free space in bytes of the file system that holds a folder.
	Space func(dir string) (uint64, error)
}

// Find returns an interpreter that fits, without making or fetching anything. It returns a
// *backend.Unavailable if there is none.
func (e *Environment) Find(ctx context.Context) (Interpreter, error) {
	getenv := e.getenv()
	if path := getenv("TRIAD_PYTHON"); path != "" {
		i, err := probe(ctx, path, "TRIAD_PYTHON")
		if ctx.Err() != nil { // a question that was broken off says nothing about this machine
			return Interpreter{}, ctx.Err()
		}
		if err != nil {
			return Interpreter{}, &backend.Unavailable{Sentence: fmt.Sprintf("TRIAD_PYTHON: %v", err)}
		}
		i.Misfit = i.misfit(e.GPU)
		i.Outside = i.Misfit != ""
		return i, nil
	}
	var misfits []string
	for _, c := range candidates(getenv) {
		i, err := probe(ctx, c[0], c[1])
		if err != nil {
			continue
		}
		why := i.misfit(e.GPU)
		if why == "" {
			return i, nil
		}
		misfits = append(misfits, fmt.Sprintf("%s has %s", c[0], why))
	}
	dir, err := e.dir(pythonParcel)
	if err != nil {
		return Interpreter{}, err
	}
	if path := filepath.Join(dir, "bin", "python"); exists(path) {
		i, err := probe(ctx, path, "private environment")
		if err == nil && i.misfit(e.GPU) == "" {
			return i, nil
		}
		misfits = append(misfits, "the private environment "+dir+
			" is damaged (triad setup --remove deletes it)")
	}
	if ctx.Err() != nil {
		return Interpreter{}, ctx.Err()
	}
	if len(misfits) == 0 {
		misfits = []string{"no python3 on the PATH"}
	}
	return Interpreter{}, &backend.Unavailable{Sentence: "no Python with torch and triton: " +
		strings.Join(misfits, "; ") + "; triad setup makes one"}
}

// likely returns the Python that Find most likely returns, without probing any: the one that is named, or the
// private one, which was made because no other fitted; "" if there is neither.
func (e *Environment) likely() string {
	if path := e.getenv()("TRIAD_PYTHON"); path != "" {
		return path
	}
	dir, err := e.dir(pythonParcel)
	path := filepath.Join(dir, "bin", "python")
	if err != nil || !exists(path) {
		return ""
	}
	return path
}

// Ensure is Find, and makes the private environment if nothing fits. Two concurrent processes wait for each
// other and do the work once.
func (e *Environment) Ensure(ctx context.Context) (Interpreter, error) {
	i, err := e.Find(ctx)
	var missing *backend.Unavailable
	if err == nil || !errors.As(err, &missing) || e.getenv()("TRIAD_PYTHON") != "" {
		return i, err
	}
	if e.Look {
		return i, err
	}
	if e.Offline {
		return i, &backend.Unavailable{Sentence: missing.Sentence + ", but --offline forbids fetching"}
	}
	question := "triad needs torch and Triton for the rows of Triton and PyTorch. It will make a private " +
		"Python environment:\n"
	if err := e.provide(ctx, pythonParcel, question, e.pythonWhole); err != nil {
		return i, err
	}
	return e.Find(ctx)
}

func (e *Environment) pythonWhole(ctx context.Context, dir string) bool {
	i, err := probe(ctx, filepath.Join(dir, "bin", "python"), "")
	return err == nil && i.misfit(e.GPU) == ""
}

// NVCC returns the path of the nvcc of requirements-cuda.txt in an environment of its own, and makes it if it
// is missing and fetch is set.
func (e *Environment) NVCC(ctx context.Context, fetch bool) (string, error) {
	dir, err := e.dir(nvccParcel)
	if err != nil {
		return "", err
	}
	whole := func(_ context.Context, dir string) bool { return nvccIn(dir) != "" }
	if !whole(ctx, dir) {
		if !fetch || e.Offline {
			return "", &backend.Unavailable{Sentence: "no nvcc in " + dir +
				"; triad setup --nvcc fetches one"}
		}
		if err := e.provide(ctx, nvccParcel,
			"triad will fetch NVIDIA's CUDA compiler into a private environment:\n", whole); err != nil {
			return "", err
		}
	}
	return nvccIn(dir), nil
}

// NVCCFolder returns the folder of the environment that NVCC makes, whether it exists or not.
func (e *Environment) NVCCFolder() (string, error) { return e.dir(nvccParcel) }

// nvccIn returns the path of the compiler inside an environment, "" if it is not there.
func nvccIn(dir string) string {
	found, _ := filepath.Glob(filepath.Join(dir, "lib", "python3*", "site-packages", "nvidia", "cu13",
		"bin", "nvcc"))
	if len(found) == 0 {
		return ""
	}
	return found[0]
}

// provide asks for consent and makes a parcel's environment. A failure is a *backend.Unavailable.
func (e *Environment) provide(ctx context.Context, p parcel, question string, whole func(context.Context,
	string) bool,
) error {
	python, err := base(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return &backend.Unavailable{Sentence: err.Error()}
	}
	dir, err := e.dir(p)
	if err != nil {
		return err
	}
	return e.fetch(ctx, p, dir, fetching{
		question: question + e.describe(p, dir), declined: "triad setup makes it, --impl cuda does without",
		install: func(ctx context.Context, dir string) error { return e.install(ctx, p, python, dir) },
		whole:   whole,
	})
}

// fetching holds how to ask for a parcel and install it.
type fetching struct {
	question string // "": no question
	declined string // what to do if the answer is no
	install  func(ctx context.Context, dir string) error
	whole    func(ctx context.Context, dir string) bool // whether an existing one can be used
}

// fetch asks for consent and makes a parcel. Interruptible may end both; that is no fault, and leaves nothing
// behind.
func (e *Environment) fetch(ctx context.Context, p parcel, dir string, f fetching) error {
	within, done := ctx, func() {}
	if e.Interruptible != nil {
		within, done = e.Interruptible(ctx)
	}
	defer done()
	agreed := f.question == "" || e.Consent == nil || e.Consent(within, f.question)
	var err error
	if agreed && within.Err() == nil {
		err = e.make(within, p, dir, func(dir string) error { return f.install(within, dir) }, f.whole)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case within.Err() != nil:
		return &backend.Unavailable{Sentence: "making " + p.name + " was stopped; " + f.declined}
	case !agreed:
		return &backend.Unavailable{Sentence: "making " + p.name + " was declined; " + f.declined}
	case err != nil:
		return &backend.Unavailable{Sentence: err.Error()}
	}
	return nil
}

// describe returns what making a parcel costs, where it goes and how it is removed.
func (e *Environment) describe(p parcel, dir string) string {
	return fmt.Sprintf("  where     %s\n  download  about %.1f GB, from the package index that pip is "+
		"configured for\n  disk      about %.1f GB\n"+
		"  remove    triad setup --remove\n", dir, float64(p.download)/1e9, float64(p.disk)/1e9)
}

// dir returns the folder of a parcel's environment, which need not exist. Its name has a hash of the
// requirements, so a version of triad with other requirements makes another one.
func (e *Environment) dir(p parcel) (string, error) {
	text, err := fs.ReadFile(e.Files, p.requirements)
	if err != nil {
		return "", fmt.Errorf("read the embedded %s: %w", p.requirements, err)
	}
	sum := sha256.Sum256(text)
	return filepath.Join(e.DataDir, p.prefix+hex.EncodeToString(sum[:6])), nil
}

// make installs a parcel into a folder next to dir, under a lock, and renames that folder to dir: an existing
// dir is complete.
func (e *Environment) make(ctx context.Context, p parcel, dir string, install func(dir string) error,
	whole func(context.Context, string) bool,
) error {
	if err := os.MkdirAll(e.DataDir, 0o755); err != nil {
		return fmt.Errorf("make %s: %w", p.name, err)
	}
	unlock, err := e.lock(ctx, dir)
	if err != nil {
		return fmt.Errorf("make %s: %w", p.name, err)
	}
	defer unlock()
	if exists(dir) {
		if whole(ctx, dir) {
			return nil // another process made it while we waited
		}
		if ctx.Err() != nil { // an interrupted check proves no damage
			return ctx.Err()
		}
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("replace %s, which is damaged: %w", p.name, err)
		}
	}
	partial := dir + ".partial"
	if err := os.RemoveAll(partial); err != nil { // left by a set-up that was interrupted
		return fmt.Errorf("remove an interrupted set-up: %w", err)
	}
	if err := e.checkSpace(p); err != nil {
		return err
	}
	if err := install(partial); err != nil {
		os.RemoveAll(partial)
		return err
	}
	if err := os.Rename(partial, dir); err != nil {
		return fmt.Errorf("put %s in place: %w", p.name, err)
	}
	return nil
}

func (e *Environment) checkSpace(p parcel) error {
	space := e.Space
	if space == nil {
		space = freeBytes
	}
	free, err := space(e.DataDir)
	if err != nil {
		return fmt.Errorf("ask for the free space of %s: %w", e.DataDir, err)
	}
	if free < uint64(p.disk) {
		return fmt.Errorf("%s needs about %.1f GB in %s, and %.1f GB are free: make room, or set "+
			"XDG_DATA_HOME to a folder on a larger disk",
			p.name, float64(p.disk)/1e9, e.DataDir, float64(free)/1e9)
	}
	return nil
}

// install makes a virtual environment in dir and installs the pinned, hashed requirements, by uv if it is
// there.
func (e *Environment) install(ctx context.Context, p parcel, python, dir string) error {
	scratch, requirements, err := e.writeRequirements(p)
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	target := filepath.Join(dir, "bin", "python")
	steps := [][]string{
		{python, "-I", "-m", "venv", dir},
		{
			target, "-I", "-m", "pip", "install", "--disable-pip-version-check", "--no-input",
			"--progress-bar",
			"off", "--require-hashes", "-r", requirements,
		},
	}
	if uv, err := exec.LookPath("uv"); err == nil {
		steps = [][]string{
			{uv, "venv", "--quiet", "--python", python, dir},
			{uv, "pip", "install", "--quiet", "--python", target, "--require-hashes", "-r", requirements},
		}
	}
	return e.runSteps(ctx, p, steps)
}

// writeRequirements writes the embedded requirements of a parcel into a scratch folder, which the caller
// removes.
func (e *Environment) writeRequirements(p parcel) (scratch, requirements string, err error) {
	text, err := fs.ReadFile(e.Files, p.requirements)
	if err != nil {
		return "", "", fmt.Errorf("read the embedded %s: %w", p.requirements, err)
	}
	if scratch, err = os.MkdirTemp("", "triad-setup-"); err != nil {
		return "", "", fmt.Errorf("make %s: %w", p.name, err)
	}
	requirements = filepath.Join(scratch, "requirements.txt")
	if err := os.WriteFile(requirements, text, 0o644); err != nil {
		os.RemoveAll(scratch)
		return "", "", fmt.Errorf("make %s: %w", p.name, err)
	}
	return scratch, requirements, nil
}

// runStep runs one command of the set-up. An interruption ends all that it started.
func runStep(ctx context.Context, p parcel, step []string, log io.Writer) error {
	var tail bytes.Buffer
	out := io.MultiWriter(&milestones{log: log}, &tail)
	_, err := subprocess.Run(ctx, subprocess.Command{Path: step[0], Args: step[1:], Stdout: out, Stderr: out})
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("make %s: %s: %w: %s", p.name, filepath.Base(step[0])+" "+step[1], err,
			lastLines(tail.String(), 3))
	}
	return nil
}

// milestones reports the steps of an installation: each large file that is being fetched, and the unpacking.
type milestones struct {
	log  io.Writer
	line []byte
}

var fetched = regexp.MustCompile(`^\s*Downloading (\S+?)-\d\S* \((\d+\.\d MB|\S+ GB)\)`)

func (m *milestones) Write(b []byte) (int, error) {
	for _, c := range b {
		if c != '\n' {
			m.line = append(m.line, c)
			continue
		}
		text := string(m.line)
		if found := fetched.FindStringSubmatch(text); found != nil && (strings.HasSuffix(found[2], "GB") ||
			len(found[2]) > len("99.9 MB")) {
			fmt.Fprintf(m.log, "triad: fetching %s, %s\n", strings.ReplaceAll(found[1], "_", "-"), found[2])
		} else if strings.HasPrefix(text, "Installing collected packages") {
			fmt.Fprintln(m.log, "triad: unpacking")
		}
		m.line = m.line[:0]
	}
	return len(b), nil
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], " | ")
}

// Remove deletes the private environments of every version and returns the bytes that were freed.
func (e *Environment) Remove(ctx context.Context) (int64, error) {
	var matches []string
	for _, p := range []parcel{pythonParcel, nvccParcel, peersParcel, cutileParcel} {
		found, err := filepath.Glob(filepath.Join(e.DataDir, p.prefix+"*"))
		if err != nil {
			return 0, fmt.Errorf("list %s: %w", p.name, err)
		}
		matches = append(matches, found...)
	}
	var freed int64
	for _, dir := range matches {
		if strings.HasSuffix(dir, ".lock") {
			continue
		}
		unlock, err := e.lock(ctx, strings.TrimSuffix(dir, ".partial"))
		if err != nil {
			return freed, fmt.Errorf("remove %s: %w", dir, err)
		}
		size := Size(dir)
		err = os.RemoveAll(dir)
		unlock()
		if err != nil {
			return freed, fmt.Errorf("remove %s: %w", dir, err)
		}
		freed += size
	}
	return freed, nil
}

// Size returns the number of bytes that the files under dir occupy; 0 if it is not there.
func Size(dir string) int64 {
	var total int64
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			if info, err := entry.Info(); err == nil {
				total += info.Size()
			}
		}
		return nil
	})
	return total
}

func (e *Environment) getenv() func(string) string {
	if e.Getenv != nil {
		return e.Getenv
	}
	return os.Getenv
}

func (e *Environment) log() io.Writer {
	if e.Log != nil {
		return e.Log
	}
	return io.Discard
}

func freeBytes(dir string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return s.Bavail * uint64(s.Bsize), nil
}

// lock waits for another process that makes or removes the same environment, and logs that.
func (e *Environment) lock(ctx context.Context, dir string) (unlock func(), err error) {
	return lockfile.Acquire(ctx, dir+".lock",
		func() { fmt.Fprintf(e.log(), "triad: another triad is at it, waiting (%s.lock)\n", dir) })
}
