// Package sandbox runs untrusted programs under bubblewrap: without a network, on a read-only system, with an
// empty home and a process table of its own. A program sees only what is listed of this machine.
package sandbox

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"triad/internal/backend"
	"triad/internal/subprocess"
)

// Box lists what a program sees of this machine.
type Box struct {
	ReadOnly []string // files and folders, at their own paths; missing ones are left out
	Empty    []string // folders that are empty and can be written to
	Masked   []string // files among these that have no contents
	Devices  []string
	// First: the program is the first process of the sandbox's table, which no signal from inside reaches,
	// and takes in the orphans
	First bool
}

// The limits of a program in a sandbox.
const (
	scratchBytes  = 1 << 30  // of each folder that can be written to
	fileBytes     = 1 << 30  // of one file
	dataBytes     = 16 << 30 // of memory of one process
	mostThreads   = 1024     // of a user's, threads counted
	mostProcesses = 100
	mostBytes     = 8 << 30 // of memory of all processes, shared memory and files in memory among it
)

// Most limits what all processes of a sandbox use together: the driver ends them if they exceed it.
var Most = subprocess.Usage{Processes: mostProcesses, Bytes: mostBytes}

// system lists the system folders that programs need, and files of /etc. Missing ones are left out.
var system = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
	"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/passwd",
	"/etc/group", "/etc/nsswitch.conf", "/etc/localtime",
}

// Sandbox is bubblewrap as it was found on this machine.
type Sandbox struct{ path string }

// Find looks for bubblewrap and tries it. The error is a *backend.Unavailable that says what is missing.
func Find(ctx context.Context) (*Sandbox, error) {
	path, err := exec.LookPath("bwrap")
	if err != nil {
		return nil, missing("bubblewrap is not here: install it (Debian and Ubuntu: apt install " +
			"bubblewrap; Fedora: dnf install bubblewrap)")
	}
	s := &Sandbox{path}
	name, args := s.Wrap("/bin/true", nil, Box{})
	var stderr strings.Builder
	_, err = subprocess.Run(ctx, subprocess.Command{
		Path: name, Args: args, Stderr: &stderr, Deadline: 20 * time.Second,
	})
	if err != nil {
		return nil, missing(fmt.Sprintf("bubblewrap cannot make one (%v: %s): permit user namespaces", err,
			strings.TrimSpace(stderr.String())))
	}
	return s, nil
}

// missing returns the error for a machine without a sandbox.
func missing(why string) error {
	return &backend.Unavailable{Sentence: "files of others run in a sandbox, and " + why}
}

// Wrap returns the command that runs a program in a sandbox. The program inherits the open descriptors and
// the environment of the command.
func (s *Sandbox) Wrap(path string, args []string, box Box) (string, []string) {
	all := []string{
		"--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session",
		"--cap-drop", "ALL", "--hostname", "sandbox", "--proc", "/proc", "--dev", "/dev",
	}
	if box.First {
		all = append(all, "--as-pid-1")
	}
	size := strconv.Itoa(scratchBytes)
	empty := append([]string{"/tmp", "/dev/shm"}, box.Empty...)
	slices.Sort(empty)
	for _, folder := range slices.Compact(empty) {
		all = append(all, "--size", size, "--tmpfs", folder)
	}
	var shown []string
	for _, at := range slices.Concat(system, box.ReadOnly) {
		info, err := os.Lstat(at)
		if err != nil {
			continue
		}
		if to, err := os.Readlink(at); err == nil && info.Mode()&os.ModeSymlink != 0 &&
			filepath.Dir(at) == "/" {
			shown = append(shown, at)
			all = append(all, "--symlink", to, at) // /bin, if it links to /usr/bin
			continue
		}
		if slices.ContainsFunc(shown, func(in string) bool { return strings.HasPrefix(at, in+"/") }) {
			continue // there it may be a link, on which nothing can be mounted
		}
		shown = append(shown, at)
		all = append(all, "--ro-bind", at, at)
	}
	for _, at := range box.Masked {
		if _, err := os.Lstat(at); err == nil {
			all = append(all, "--ro-bind", "/dev/null", at)
		}
	}
	for _, at := range box.Devices {
		all = append(all, "--dev-bind-try", at, at)
	}
	all = append(all, "--dir", Home, "--remount-ro", "/", "--chdir", "/tmp", "--", path)
	return s.path, append(all, args...)
}

// Home is the home of a program in a sandbox.
const Home = "/tmp/home"

// limitsName is the environment variable with the limits that a worker sets for itself before it meets a
// user's file.
const limitsName = "TRIAD_SANDBOX"

// ExtensionsName is the environment variable with the folder in which torch compiles extensions.
const ExtensionsName = "TORCH_EXTENSIONS_DIR"

// Environment returns the variables that a worker in a sandbox gets last.
func Environment() []string {
	return []string{
		"HOME=" + Home, "TMPDIR=/tmp", "XDG_CACHE_HOME=" + Home + "/.cache", "PYTHONDONTWRITEBYTECODE=1",
		ExtensionsName + "=" + Home + "/.cache/torch_extensions",
		fmt.Sprintf("%s=data=%d,fsize=%d,nproc=%d,core=0", limitsName, int64(dataBytes), int64(fileBytes),
			mostThreads),
	}
}

// LimitSelf limits what this process and its children may use, if the environment says so: a worker calls it
// first. pybridge/worker/sandbox.py does the same for Python.
func LimitSelf(getenv func(string) string) error {
	kinds := map[string]int{
		"data": unix.RLIMIT_DATA, "fsize": unix.RLIMIT_FSIZE, "nproc": unix.RLIMIT_NPROC,
		"core": unix.RLIMIT_CORE,
	}
	for _, word := range strings.FieldsFunc(getenv(limitsName), func(r rune) bool { return r == ',' }) {
		name, value, _ := strings.Cut(word, "=")
		kind, known := kinds[name]
		n, err := strconv.ParseUint(value, 10, 64)
		if !known || err != nil {
			return fmt.Errorf("%s: %q: want a limit, as in core=0", limitsName, word)
		}
		if err := unix.Setrlimit(kind, &unix.Rlimit{Cur: n, Max: n}); err != nil {
			return fmt.Errorf("limit %s to %d: %w", name, n, err)
		}
	}
	return nil
}
