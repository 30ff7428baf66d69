package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Scores of several operators add up, survivors are named, and a folder without a score is an error.
func TestScoresAddUp(t *testing.T) {
	folder := t.TempDir()
	if _, err := added(folder); err == nil || !strings.Contains(err.Error(), folder) {
		t.Errorf("an empty folder: %v", err)
	}
	for name, text := range map[string]string{
		"a": `{"Mutants":3,"Killed":2,"Judgements":10,"Accused":1,"Seeds":2,"Survivors":["a forward 1, ` +
			`sign: fp32"],"PeerKills":[1,2]}`,
		"b": `{"Mutants":4,"Killed":4,"Judgements":5,"Seeds":2,"PeerKills":[10,20]}`,
	} {
		if err := os.WriteFile(filepath.Join(folder, name+".json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	total, err := added(folder)
	if err != nil {
		t.Fatal(err)
	}
	want := "survives: a forward 1, sign: fp32\nmutants killed 6/7, right variants accused 1/15, seeds 2\n"
	if total.String() != want || total.PeerKills[1] != 22 {
		t.Errorf("%v, %v\nwant %s", total, total.PeerKills, want)
	}
	if err := os.WriteFile(filepath.Join(folder, "c.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := added(folder); err == nil {
		t.Error("a broken score is no error")
	}
}
