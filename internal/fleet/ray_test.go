package fleet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"triad/internal/need"
)

// pretended starts an engine whose Python is a shell script.
func pretended(t *testing.T, script string) (*Ray, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "engine.sh")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	r := &Ray{Python: need.Tool(t, "env"), Script: path, Triad: "/bin/true", Address: "here:1"}
	python := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(python, []byte("#!/bin/sh\nexec \"$2\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	r.Python = python
	t.Cleanup(r.Close)
	return r, r.Start(t.Context())
}

// The engine's answers, and how it ends, reach the driver.
func TestRayAnswers(t *testing.T) {
	r, err := pretended(t, `echo '{"error": ""}'
read line; echo "$line" > "$0.said"; echo '{}'
read line; echo '{"gone": {"2": "ended", "3": "its node died"}}'
read line; echo '{"error": "the cluster is gone"}'
read line; echo 'no JSON'
read line; echo broken down >&2; exit 7
`)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Submit(t.Context(), Folder("parts"), []int{2, 3}); err != nil {
		t.Error(err)
	}
	said, err := os.ReadFile(r.Script + ".said")
	if err != nil || !strings.Contains(string(said), `"shards":[2,3]`) ||
		!strings.Contains(string(said), "/parts") {
		t.Errorf("it was told %s (%v)", said, err)
	}
	gone, err := r.Gone(t.Context(), []int{1, 2, 3})
	if err != nil || len(gone) != 2 || gone[2] != "ended" || gone[3] != "its node died" {
		t.Errorf("gone: %v (%v)", gone, err)
	}
	for _, want := range []string{"the cluster is gone", "no JSON", "broken down", "broken down"} {
		if err := r.Cancel(t.Context(), true); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// The errors of an engine that cannot connect, and of one that cannot be started, say why.
func TestRayDoesNotStart(t *testing.T) {
	for script, want := range map[string]string{
		`echo '{"error": "here:1: nobody answers"}'; exit 1`: "nobody answers",
		`echo no module named ray >&2; exit 1`:               "no module named ray",
	} {
		if _, err := pretended(t, script+"\n"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	r := &Ray{Python: "/nowhere/python"}
	if err := r.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "start ray's Python") {
		t.Error(err)
	}
	r.Close()
}
