package pagestest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"triad/results"
)

// TestAnExportOfTheReleaseIsReadWithoutLoss: records that an older triad exported as JSON lines go through
// today's types and database, and come back with every field and value that they had.
func TestAnExportOfTheReleaseIsReadWithoutLoss(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"swiglu.jsonl", "swiglu.sessions.jsonl"} {
		text, err := os.ReadFile(filepath.Join("../../../results/published/h200", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	exported, err := lines[map[string]any](filepath.Join(folder, "swiglu.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	store, err := results.Open(ctx, Database(t, folder), results.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	records, total, err := store.List(ctx, results.Filter{Limit: -1})
	if err != nil || total != len(exported) || total != 12 {
		t.Fatalf("%d of %d records are read, %v", total, len(exported), err)
	}
	for i, want := range exported {
		text, err := json.Marshal(records[len(records)-1-i]) // the newest comes first
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		delete(want, "id") // another database gives other IDs
		delete(want, "session")
		for _, what := range lost(want, got, "") {
			t.Errorf("record %d: %s", i, what)
		}
	}
}

// lost lists the values in a JSON object that another one lacks, or has otherwise, with their paths. Fields
// that only the other one has are permitted: a newer triad may add some.
func lost(want, got any, path string) []string {
	object, is := want.(map[string]any)
	other, both := got.(map[string]any)
	if is && both {
		var all []string
		for _, name := range slices.Sorted(maps.Keys(object)) {
			if _, is := other[name]; !is {
				all = append(all, path+"."+name+" is missing")
				continue
			}
			all = append(all, lost(object[name], other[name], path+"."+name)...)
		}
		return all
	}
	if !reflect.DeepEqual(want, got) {
		return []string{fmt.Sprintf("%s was %v, and is read as %v", path, want, got)}
	}
	return nil
}

// TestLostValuesAreFound: a missing field and another value are found at any depth, a new field is not.
func TestLostValuesAreFound(t *testing.T) {
	want := map[string]any{"a": 1.0, "b": map[string]any{"c": "x", "d": nil}, "e": []any{1.0}}
	got := map[string]any{"a": 1.0, "b": map[string]any{"c": "y", "new": 2.0}, "e": []any{}}
	found := lost(want, got, "")
	if wanted := []string{
		".b.c was x, and is read as y", ".b.d is missing", ".e was [1], and is read as []",
	}; !slices.Equal(found, wanted) {
		t.Errorf("found %q, want %q", found, wanted)
	}
}
