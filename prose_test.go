package triad_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// translated matches the first line of a doc comment such as "order is what decides", where a native engineer
// writes "order decides".
var translated = regexp.MustCompile(`(?m)^\s*// \w+ (is|are) (what|how|where|which|who|when|why|whether)\b`)

// mostTranslated is the number of such lines in Go files. It was 750.
const mostTranslated = 0

// TestProse: doc comments begin with a subject and a verb.
func TestProse(t *testing.T) {
	found := 0
	for _, folder := range []string{"cmd", "cuda", "internal", "pybridge", "results", "release"} {
		err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".go") {
				found += len(translated.FindAllString(read(t, path), -1))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found > mostTranslated {
		t.Errorf("%d comments begin as in \"x is what ...\", at most %d may: write what x does", found,
			mostTranslated)
	}
}
