package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"triad/internal/need"
)

// TestSandboxedBuildsAreKept: a library is built in a sandbox once for each contents of its file, although
// the file tries to change it from within.
func TestSandboxedBuildsAreKept(t *testing.T) {
	need.Tool(t, "g++")
	need.Tool(t, "bwrap")
	folder := t.TempDir()
	hostile := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join("testdata", "hostile", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	judged := func(text string) (cached string) {
		t.Helper()
		writeFiles(t, folder, text, "k.cu")
		db := filepath.Join(t.TempDir(), "r.db")
		out, errors, code := filesJudged(t, "--json", "--pass", "forward", "--dims", "rows=3,cols=17",
			"--dtype", "fp32", "--distribution", "normal", "--db", db, "--add", folder)
		if code != 0 {
			t.Fatalf("exit code %d: %s%s", code, out, errors)
		}
		return strings.TrimSpace(queried(t, db,
			"SELECT coalesce(json_extract(build_json, '$.cached'), 0) FROM implementation"))
	}
	writeFiles(t, folder, hostile("softmax.cuh"), "softmax.cuh")
	text := hostile("rewrites_its_library.cu") + fmt.Sprintf("// %d\n", time.Now().UnixNano())
	for i, run := range []struct{ text, cached string }{
		{text, "0"}, {text, "1"}, {text + "// changed\n", "0"}, {text + "// changed\n", "1"},
	} {
		if cached := judged(run.text); cached != run.cached {
			t.Errorf("run %d: cached %s, want %s", i+1, cached, run.cached)
		}
	}
}
