package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"triad"
	"triad/internal/catalog"
	"triad/internal/rownames"
)

// stub is a fake triad that logs its arguments and exports a line. It is interrupted if the file "slow" is
// next to it.
const stub = `#!/bin/sh
here=$(dirname "$0")
case "$*" in
*export*sessions*) echo '{"id":"1"}' ;;
*export*) echo '{"op":"softmax"}' ;;
*)
	calls="$*"
	echo "$*" >>"$here/calls"
	while [ $# -gt 0 ]; do [ "$1" = --db ] && touch "$2"; shift; done
	case "$calls" in
	*liger*)
		[ -e "$here/alone" ] && echo 'triad: no implementation begins with "liger": want a prefix' && exit 2
		;;
	esac
	[ -e "$here/slow" ] && echo "The run was stopped before its plan was done" && exit 3
	exit 0
	;;
esac
`

// recordSession runs record.sh with a triad that only logs its arguments.
func recordSession(t *testing.T, folder string, args ...string) (said, calls string) {
	t.Helper()
	triad := filepath.Join(folder, "triad")
	if err := os.WriteFile(triad, []byte(stub), 0o755); err != nil {
		t.Fatal(err)
	}
	_ = os.Remove(filepath.Join(folder, "calls"))
	cmd := exec.Command("bash", append([]string{"record.sh"}, args...)...)
	cmd.Env = append(os.Environ(), "TRIAD="+triad)
	out, _ := cmd.CombinedOutput()
	text, err := os.ReadFile(filepath.Join(folder, "calls"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(out), string(text)
}

// An interrupted step is resumed, a finished one is not repeated, and every step leaves its export.
func TestRecordIsResumed(t *testing.T) {
	folder := t.TempDir()
	session := filepath.Join(folder, "session")
	slow := filepath.Join(folder, "slow")
	if err := os.WriteFile(slow, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if said, calls := recordSession(t, folder, session, "100", "softmax"); !strings.HasPrefix(calls,
		"bench softmax --dtype bf16 --impl cuda/sm90_cluster,cuda/vec,triton,torch,liger,quack,cutile "+
			"--budget 1s --rounds 40 --device gpu --db ") || strings.Contains(calls, "--resume") {
		t.Errorf("first: %q\n%s", calls, said)
	}
	if err := os.Remove(slow); err != nil {
		t.Fatal(err)
	}
	if said, calls := recordSession(t, folder, session, "100", "softmax", "sustained"); strings.Count(calls,
		"\n") != 5 || strings.Count(calls, "--resume") != 1 ||
		strings.Count(calls, "--sustained") != 4 {
		t.Errorf("second: %q\n%s", calls, said)
	}
	if said, calls := recordSession(t, folder, session, "100", "softmax", "sustained"); calls != "" {
		t.Errorf("third: %q\n%s", calls, said)
	}
	for _, name := range []string{
		"softmax.jsonl", "softmax.sessions.jsonl", "sustained.jsonl",
		"sustained.sessions.jsonl",
	} {
		if _, err := os.Stat(filepath.Join(session, name)); err != nil {
			t.Error(err)
		}
	}
}

// Every operator has a step of its own, or is one of the catalogue's.
func TestRecordHasEveryOperator(t *testing.T) {
	text, err := os.ReadFile("record.sh")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, name := range []string{"steps", "plain", "reductions", "products", "choices"} {
		_, rest, _ := strings.Cut(string(text), "\n"+name+"=\"")
		list, _, _ := strings.Cut(rest, "\"")
		listed = append(listed, strings.Fields(list)...)
	}
	for _, name := range catalog.Names() {
		if name == "flash_attention" {
			name = "attention"
		}
		if !slices.Contains(listed, name) {
			t.Errorf("record.sh does not measure %s", name)
		}
	}
}

// Every operator's step passes the families of all its rows, other people's among them, and its kernels for
// Hopper and of libraries by name or with all others.
func TestRecordPassesEveryPeer(t *testing.T) {
	folder := t.TempDir()
	session := filepath.Join(folder, "session")
	_, calls := recordSession(t, folder, session, "1000", "attention", "fp8_gemm", "gemm", "softmax",
		"layernorm", "swiglu", "rope", "catalogue")
	timed := map[string][]string{}
	for _, call := range strings.Split(strings.TrimSpace(calls), "\n") {
		words := strings.Fields(call)
		for _, operator := range words[1:] {
			if strings.HasPrefix(operator, "--") {
				break
			}
			timed[operator] = strings.Split(words[slices.Index(words, "--impl")+1], ",")
		}
	}
	for _, operator := range catalog.Names() {
		for _, name := range rownames.Of(triad.Files, operator) {
			family, variant, _ := strings.Cut(name, "/")
			if family == "cuda" && (strings.HasPrefix(variant, "sm90_") || variant == "cub" ||
				variant == "cublaslt") && !slices.Contains(timed[operator], name) &&
				!slices.Contains(timed[operator], family) {
				t.Errorf("record.sh does not time %s of %s: %v", name, operator, timed[operator])
			}
			if !slices.ContainsFunc(timed[operator], func(asked string) bool {
				return asked == family || strings.HasPrefix(asked, family+"/")
			}) {
				t.Errorf("record.sh times no %s of %s: %v", family, operator, timed[operator])
			}
		}
	}
}

// Other people's kernels are left out if triad does not have them, or if they are not wanted.
func TestRecordWithoutOthers(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "alone"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	said, calls := recordSession(t, folder, filepath.Join(folder, "session"), "100", "swiglu")
	if lines := strings.Split(strings.TrimSpace(calls), "\n"); len(lines) != 2 ||
		!strings.Contains(lines[1], "--impl cuda/vec,triton,torch --budget") ||
		!strings.Contains(said, "without ,liger,cutile") {
		t.Errorf("%q\n%s", calls, said)
	}
	t.Setenv("PEERS", "")
	if said, calls := recordSession(t, folder, filepath.Join(folder, "other"), "100",
		"swiglu"); strings.Contains(calls, "liger") || strings.Count(calls, "\n") != 1 {
		t.Errorf("%q\n%s", calls, said)
	}
}

// Without time nothing begins; an unknown step is refused; without arguments the steps are listed.
func TestRecordSaysWhatItDoes(t *testing.T) {
	folder := t.TempDir()
	session := filepath.Join(folder, "session")
	if said, calls := recordSession(t, folder, session, "12", "rope"); calls != "" ||
		!strings.Contains(said, "no time left for rope") {
		t.Errorf("12 s: %q\n%s", calls, said)
	}
	if said, _ := recordSession(t, folder, session, "100", "gelu"); !strings.Contains(said,
		"there is no step gelu") {
		t.Errorf("an unknown step: %s", said)
	}
	if said, _ := recordSession(t, folder); !strings.Contains(said, "record.sh build/session 480 attention") {
		t.Errorf("no argument: %s", said)
	}
}
