// Package need is for tests only. It states what a test requires, and what to do if that is missing: the test
// is then skipped, or fails if TRIAD_TEST_ALL says that this machine has everything, as .ci/run does.
package need

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// All reports whether this machine has everything that a test may need, GPUs apart.
func All() bool { return os.Getenv("TRIAD_TEST_ALL") != "" }

// SetUp reports whether "triad setup" ran before the tests, as make test does, and whether tests may fetch
// packages.
func SetUp() bool { return os.Getenv("TRIAD_TEST_SETUP") != "" || All() }

// Missing ends a test that lacks a requirement. The sentence says what is missing and what to do: "no g++ on
// the PATH: apt-get install g++".
func Missing(t testing.TB, sentence string) {
	t.Helper()
	if All() {
		t.Fatalf("%s (TRIAD_TEST_ALL says that this machine has everything)", sentence)
	}
	t.Skip(sentence)
}

// MissingSetUp is Missing for what "triad setup" makes: after a set-up it has to be there.
func MissingSetUp(t testing.TB, err error) {
	t.Helper()
	if SetUp() {
		t.Fatalf("%v, although the set-up was made", err)
	}
	t.Skipf("%v: make test sets it up", err)
}

// packages maps a program to the Debian and Ubuntu package that holds it, where the names differ.
var packages = map[string]string{
	"addr2line": "binutils", "ld": "binutils", "nm": "binutils",
	"readelf": "binutils",
}

// Tool returns the path of a program.
func Tool(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		of := packages[name]
		if of == "" {
			of = name
		}
		Missing(t, "no "+name+" on the PATH: apt-get install "+of)
	}
	return path
}

// Clang returns the path of a clang++ that is new enough: the one that TRIAD_TEST_CLANG names, or the first
// on the PATH.
func Clang(t testing.TB) string {
	t.Helper()
	names := []string{"clang++", "clang++-19", "clang++-18", "clang++-17", "clang++-16", "clang++-15"}
	if named := os.Getenv("TRIAD_TEST_CLANG"); named != "" {
		names = []string{named}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	Missing(t, "no "+strings.Join(names, ", ")+" on the PATH: apt-get install clang-19")
	return ""
}

// ClangVersions lists the versions of clang++ that the emulator is tested with.
var ClangVersions = []int{15, 16, 19}

// ClangOf returns the path of the clang++ of a version.
func ClangOf(t testing.TB, version int) string {
	t.Helper()
	name := fmt.Sprintf("clang++-%d", version)
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(t, fmt.Sprintf("no %s on the PATH: apt-get install clang-%d", name, version))
	}
	return path
}

// gpu begins the reason of a skipped test that needs a GPU.
const gpu = "needs a GPU"

// GPU skips a test that needs a GPU; why says what is missing.
func GPU(t testing.TB, why string) {
	t.Helper()
	t.Skipf("%s: %s", gpu, why)
}

// IsGPU reports whether a test was skipped because it needs a GPU.
func IsGPU(reason string) bool { return strings.HasPrefix(reason, gpu) }

// IsCutile reports whether a test was skipped because it needs cuTile, which only "triad setup --cutile"
// installs: its compiler is large.
func IsCutile(reason string) bool { return strings.HasPrefix(reason, "needs cuTile") }

// DataDir returns the folder in which "triad setup" put its files for this user.
func DataDir(t testing.TB) string {
	t.Helper()
	base := os.Getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(base) {
		home, err := os.UserHomeDir()
		if err != nil {
			t.Fatal(err)
		}
		base = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(base, "triad")
}

// NVCCFolders lists the private environments with nvcc that "triad setup --nvcc" made, and "" for none.
func NVCCFolders(t testing.TB) []string {
	t.Helper()
	return append(environments(t, "nvcc-*"), "")
}

// PythonFolders lists the private Python environments of this user, which bring Triton.
func PythonFolders(t testing.TB) []string {
	t.Helper()
	return environments(t, "python-*")
}

func environments(t testing.TB, pattern string) []string {
	t.Helper()
	private, err := filepath.Glob(filepath.Join(DataDir(t), pattern, "lib"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range private {
		private[i] = filepath.Dir(private[i])
	}
	return private
}

// What Python's unittest -v prints for a test, for a skipped one, and at its end.
var (
	unittestName  = regexp.MustCompile(`^\s*(\w+) \([\w.]+\)`)
	unittestSkip  = regexp.MustCompile(`\.\.\. skipped (?:'(.*)'|"(.*)")$`)
	unittestCount = regexp.MustCompile(`(?m)^OK \(.*skipped=(\d+)`)
)

// Unittest reports each test that "python -m unittest -v" skipped as a skipped test, so that the list of
// skipped tests has it; log is the output.
func Unittest(t *testing.T, log string) {
	t.Helper()
	name, count := "", 0
	for line := range strings.Lines(log) {
		line = strings.TrimSuffix(line, "\n")
		if m := unittestName.FindStringSubmatch(line); m != nil {
			name = m[1]
		}
		m := unittestSkip.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		count++
		t.Run(name, func(t *testing.T) {
			if reason := m[1] + m[2]; IsGPU(reason) || IsLong(reason) || IsCutile(reason) {
				t.Skip(reason)
			} else {
				Missing(t, reason)
			}
		})
	}
	if n := unittestCount.FindStringSubmatch(log); n != nil && n[1] != strconv.Itoa(count) {
		t.Errorf("unittest skipped %s tests, and %d are named in\n%s", n[1], count, log)
	}
}
