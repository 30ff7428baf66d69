package triad_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// translated matches the first line of a doc comment such as "order is what decides" or "reason says why it
// failed", where a native engineer writes "order decides" and "reason explains the failure".
var translated = regexp.MustCompile(`(?m)^\s*// \w+ ((is|are) (what|how|where|which|who|when|why|whether)|` +
	`(says?|tells?|told) (what|how|where|which|why|that|whether|in|of|for))\b`)

// TestProse: doc comments begin with a subject and a verb.
func TestProse(t *testing.T) {
	var found []string
	for _, folder := range []string{"cmd", "cuda", "internal", "pybridge", "results", "release"} {
		err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".go") {
				for _, line := range translated.FindAllString(read(t, path), -1) {
					found = append(found, path+": "+strings.TrimSpace(line))
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range found {
		t.Errorf("%s ...: write what it does: subject first, then a verb", line)
	}
}

// foreign matches the surroundings in which a change was made, which say nothing to a reader elsewhere:
// folders of one machine, files outside of the repository, and private package indexes. Each pattern has a
// word that its matches contain. Words and patterns are put together so that they do not match themselves.
var foreign = []struct {
	what, word string
	pattern    *regexp.Regexp
}{
	{"a folder of one machine", "/wor" + "k/", regexp.MustCompile(`(^|[^\w.$}/])/[w]ork/`)},
	{"a folder of one machine", "/tmp" + "/w/", regexp.MustCompile(`/[t]mp/w/`)},
	{"a file outside of the tree", "../" + "shared/", regexp.MustCompile(`\.\./[s]hared/`)},
	{"a file outside of the tree", "HELP" + "ERS", regexp.MustCompile(`\b[H]ELPERS\b`)},
	{"who made a change", "helper " + "session", regexp.MustCompile(`[h]elper session`)},
	{"who made a change", "sub" + "agent", regexp.MustCompile(`\b[s]ubagent`)},
	{"an issue by its number", "iss" + "ue ", regexp.MustCompile(`\b(see|fixes|closes) [i]ssue #?\d+\b`)},
	{"a private package index", "arti" + "factory", regexp.MustCompile(`https?://[^\s"]*[a]rtifactory`)},
	{"a private package index", "GOPR" + "OXY=", regexp.MustCompile(`\bGOPR[O]XY=http`)},
}

// namedBy returns what a text names of the surroundings in which it was written, "" for nothing.
func namedBy(text []byte) string {
	for _, f := range foreign {
		if bytes.Contains(text, []byte(f.word)) {
			if at := f.pattern.Find(text); at != nil {
				return f.what + ": " + string(at)
			}
		}
	}
	return ""
}

// TestNothingNamesItsSurroundings: no source and no page names the machine or the tools with which it was
// written. Records of runs are left out: they hold what their machine printed.
func TestNothingNamesItsSurroundings(t *testing.T) {
	for _, file := range sourceFiles(t, ".go", ".py", ".cu", ".cuh", ".h", ".cc", ".c", ".sh", ".md", ".toml",
		".txtar", ".sql", ".html", ".mk", ".yml", "") {
		if named := namedBy([]byte(read(t, file))); named != "" {
			t.Errorf("%s names %s", file, named)
		}
	}
}

// TestSurroundingsAreRecognised: what the patterns are for matches, and what only looks like it does not.
func TestSurroundingsAreRecognised(t *testing.T) {
	for _, text := range []string{
		"see /" + "work/main", "in /tmp" + "/w/x", "../" + "shared/style.md", "a sub" + "agent",
		"fixes iss" + "ue #44",
		"https://go.art" + "ifactory.example", "GOPROXY" + "=https://x",
	} {
		if namedBy([]byte(text)) == "" {
			t.Errorf("%q is not recognised", text)
		}
	}
	for _, text := range []string{
		"$HOME/work/x", "/tmp/home", "helper_cuda.h", "tensor 0 issue 65 warps",
		"https://download.pytorch.org/whl", "a test helper",
	} {
		if named := namedBy([]byte(text)); named != "" {
			t.Errorf("%q names %s", text, named)
		}
	}
}
