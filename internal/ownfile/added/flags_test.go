package added

import (
	"strings"
	"testing"
)

// TestWordsOfFile: the words that repeat the run of one file are the file, with the function if it is one of
// several, and the flags.
func TestWordsOfFile(t *testing.T) {
	added := []string{"/a/ladder.cu", "/a/other.cu:f", "--map=N=cols"}
	for impl, want := range map[string]string{
		"mine/ladder.cu":          "/a/ladder.cu --map=N=cols",
		"mine/ladder.cu:forward2": "/a/ladder.cu:forward2 --map=N=cols",
		"mine/other.cu:f":         "/a/other.cu:f --map=N=cols",
		"mine/nothing.cu":         "--map=N=cols",
	} {
		if got := strings.Join(WordsOfFile(impl, added), " "); got != want {
			t.Errorf("%s: %s, want %s", impl, got, want)
		}
	}
}
