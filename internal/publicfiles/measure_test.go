package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"
	"time"

	"triad/internal/need"
)

// A function's verdict is that of the run that decides, and those of all functions are joined.
func TestGivenBy(t *testing.T) {
	for records, want := range map[string]string{
		"": "",
		`{"id":"1","impl":"mine/a","status":"PASS"}
{"id":"2","impl":"mine/a","status":"FAIL"}
{"id":"3","impl":"mine/b","status":"PASS"}
{"session":"x","exit":1}
`: "FAIL+PASS",
		`{"id":"1","impl":"mine/a","status":"UNSUPPORTED"}
{"id":"2","impl":"mine/a","status":"PASS"}
{"id":"3","impl":"mine/b","status":"PASS"}
`: "PASS",
	} {
		if got, err := givenBy(records); err != nil || got != want {
			t.Errorf("%s\ngives %q, error %v, want %q", records, got, err, want)
		}
	}
	if _, err := givenBy(`{"id":`); err == nil {
		t.Error("half a record is read")
	}
}

// triad is run on a file only if its bytes are those of the manifest; its output decides.
func TestAsk(t *testing.T) {
	need.Tool(t, "sh")
	folder := t.TempDir()
	text := "__global__ void f() {}\n"
	sum := sha256.Sum256([]byte(text))
	f := &public{repository: "o/n", path: "b/a.cu", operator: "x", sha256: hex.EncodeToString(sum[:])}
	a := asker{triad: filepath.Join(folder, "triad"), folder: folder, limit: 5 * time.Second}
	if a.isThere(f) {
		t.Error("a file that is not there is")
	}
	if err := os.MkdirAll(filepath.Join(folder, "o+n", "b"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(a.place(f), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	other := *f
	other.sha256 = hex.EncodeToString(make([]byte, 32))
	if !a.isThere(f) || a.isThere(&other) {
		t.Error("the bytes of a file are not compared")
	}
	for script, want := range map[string]string{
		`echo '{"id":"1","impl":"mine/a","status":"FAIL"}'; exit 1`: "FAIL",
		`echo "a.cu: it has no function to judge" >&2; exit 2`:      noFunction,
		`echo "a.cu: which size is n? --map n=rows" >&2; exit 2`:    refused,
		`exec sleep 60`: noVerdict,
		`exit 3`:        "",
		`[ "$*" = "compare x --quick --device cpu --json --impl mine --db  --add ` + a.place(f) +
			` --map n=rows" ] && echo '{"id":"1","impl":"mine/a","status":"PASS"}'`: "PASS",
	} {
		if err := os.WriteFile(a.triad, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		a.limit = 30 * time.Second
		if want == noVerdict {
			a.limit = 200 * time.Millisecond
		}
		got, _, _, err := a.ask(context.Background(), f, []string{"--map", "n=rows"})
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s\ngives %q, error %v, want %q", script, got, err, want)
		}
	}
}
