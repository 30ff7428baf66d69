package backendtest

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

var update = flag.Bool("update", false, "write the golden transcripts of the wire anew")

// varies lists the fields whose values differ between machines or days: a transcript keeps only their
// presence.
var varies = map[string]bool{
	"pid": true, "versions": true, "wall_ns": true, "peak_bytes": true, "source": true, "build": true,
	"memory_bytes": true, "device": true, "slot": true,
}

// record keeps the transcripts of several workers.
type record struct {
	mu    sync.Mutex
	lines bytes.Buffer
}

func (r *record) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lines.Write(b)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lines.String()
}

var goodbye = regexp.MustCompile(`^> {"id":\d+,"do":"bye"}\n$`)

// wire compares the transcript of a short session with the golden one: a load, a right call, and a declined
// one if the subject has it.
func (s Subject) wire(t *testing.T) {
	var lines record
	b := s.New(t, patience, &lines)
	u := &user{t: t, Subject: s, backend: b}
	reply, _, err := b.Load(t.Context(), s.Operator)
	if err != nil {
		t.Fatal(err)
	}
	u.loaded = reply.Implementations
	u.isRight(t)
	if s.Without[Declines] == "" {
		u.run(t, Declines)
	}
	before := lines.String()
	if err := b.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	byes := strings.TrimPrefix(lines.String(), before) // of several workers in any order
	for line := range strings.Lines(byes) {
		if !goodbye.MatchString(line) {
			t.Errorf("the last line to a worker is %q, want bye", line)
		}
	}
	if byes == "" {
		t.Error("no worker gets the request to end")
	}
	got, err := plain(before)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.MkdirAll(filepath.Dir(s.Golden), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(s.Golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(s.Golden)
	if err != nil {
		t.Fatalf("%v; go test -update writes it", err)
	}
	for _, d := range differences(string(want), got) {
		t.Errorf("%s: %s; a change of the wire needs a look at both sides and backend.Protocol, then "+
			"go test -update", s.Golden, d)
	}
}

// plain returns a transcript with the fields that vary replaced by their kind, and all fields in order.
func plain(transcript string) (string, error) {
	var out strings.Builder
	for line := range strings.Lines(transcript) {
		side, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		var v any
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber()
		if err := decoder.Decode(&v); err != nil {
			return "", fmt.Errorf("line %q of the wire: %w", line, err)
		}
		even(v)
		again, err := json.Marshal(v)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&out, "%s %s\n", side, again)
	}
	return out.String(), nil
}

// even replaces, in a decoded line, the values that vary.
func even(v any) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			even(x)
		}
	case map[string]any:
		for name, x := range v {
			if varies[name] {
				v[name] = kind(x)
				continue
			}
			even(x)
		}
	}
}

func kind(v any) string {
	switch v.(type) {
	case json.Number:
		return "(a number)"
	case string:
		return "(a text)"
	case map[string]any:
		return "(an object)"
	case []any:
		return "(a list)"
	}
	return fmt.Sprint("(", v, ")")
}

// differences lists where two transcripts differ, line by line.
func differences(want, got string) []string {
	w, g := strings.Split(strings.TrimSpace(want), "\n"), strings.Split(strings.TrimSpace(got), "\n")
	var all []string
	for i := range max(len(w), len(g)) {
		switch {
		case i >= len(g):
			all = append(all, fmt.Sprintf("line %d is missing: %s", i+1, w[i]))
		case i >= len(w):
			all = append(all, fmt.Sprintf("line %d is new: %s", i+1, g[i]))
		case w[i] != g[i]:
			all = append(all, fmt.Sprintf("line %d is\n%s\nwant\n%s", i+1, g[i], w[i]))
		}
	}
	return all
}
