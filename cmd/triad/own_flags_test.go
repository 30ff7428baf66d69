package main

import (
	"strings"
	"testing"
)

// The words that repeat what one file did: the file, with the function where it is one of several.
func TestWordsOfFile(t *testing.T) {
	added := []string{"/a/ladder.cu", "/a/other.cu:f", "--map=N=cols"}
	for impl, want := range map[string]string{
		"mine/ladder":          "/a/ladder.cu --map=N=cols",
		"mine/ladder:forward2": "/a/ladder.cu:forward2 --map=N=cols",
		"mine/other:f":         "/a/other.cu:f --map=N=cols",
		"mine/nothing":         "--map=N=cols",
	} {
		if got := strings.Join(wordsOfFile(impl, added), " "); got != want {
			t.Errorf("%s: %s, want %s", impl, got, want)
		}
	}
}
