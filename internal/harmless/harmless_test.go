package harmless

import (
	"bytes"
	"strings"
	"testing"
)

// However text is split into pieces, what a terminal or GitHub would obey becomes visible, and all else
// stays.
func TestWriter(t *testing.T) {
	for _, c := range []struct {
		text    string
		colours bool
		want    string
	}{
		{"plain\n\ttext é 世界\n", false, "plain\n\ttext é 世界\n"},
		{"a\x1b[2Kb", true, "a\ufffd[2Kb"},
		{"\x1b[31;1mred\x1b[0m", true, "\x1b[31;1mred\x1b[0m"},
		{"\x1b[32mgreen\x1b[0m", false, "\ufffd[32mgreen\ufffd[0m"},
		{"\x1b[8mhidden\x1b[0m", true, "\ufffd[8mhidden\x1b[0m"},
		{"\x1b]0;title\a", true, "\ufffd]0;title\ufffd"},
		{"over\rwritten\r\n", false, "over\ufffdwritten\n"},
		{"\u202egnp.exe\u0085", false, "\ufffdgnp.exe\ufffd"},
		{"\xff\x9b2K", false, "\ufffd\ufffd2K"},
		{"::error::x\n  ::group::y\nstd::x ::y\n", false, ": :error::x\n  : :group::y\nstd::x ::y\n"},
		{":x\n: :\n", false, ":x\n: :\n"},
		{"log ##[error]x\n## [x](y)\n", false, "log ## [error]x\n## [x](y)\n"},
	} {
		for piece := 1; piece <= len(c.text); piece++ {
			var out bytes.Buffer
			w := NewWriter(&out, c.colours)
			for text := c.text; text != ""; {
				n := min(piece, len(text))
				if wrote, err := w.Write([]byte(text[:n])); err != nil || wrote != n {
					t.Fatal(wrote, err)
				}
				text = text[n:]
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			if out.String() != c.want {
				t.Errorf("%q in pieces of %d: %q, want %q", c.text, piece, out.String(), c.want)
				break
			}
		}
	}
}

func TestFlushOfAPart(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out, true)
	_, _ = w.Write([]byte("a\x1b["))
	if err := w.Flush(); err != nil || out.String() != "a?[" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

func TestNames(t *testing.T) {
	for text, want := range map[string]string{
		"two words": "two_words", "a\nb": "a_b", "a\x1b[2K": "a_[2K", "\u202ex": "_x", "\xffy": "_y",
		"größe": "größe",
	} {
		if got := Name(text, " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := Line(" a\nb\x1b\u2066c "); got != "a b\ufffd\ufffdc" {
		t.Errorf("%q", got)
	}
	for text, want := range map[string]string{
		"=1+1": "'=1+1", "@x": "'@x", "-3": "'-3", "x=1": "x=1", "": "",
	} {
		if got := Cell(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if strings.ContainsRune(Line("a\u2028b"), 0x2028) {
		t.Error("a line separator is left")
	}
}

// Names in a page of Markdown begin no HTML, no column and no span.
func TestMarkdown(t *testing.T) {
	for text, want := range map[string]string{
		"mine/relu_x.cu":            "mine/relu_x.cu",
		"<b>x|y*z`[a](b)":           "&lt;b&gt;x&#124;y&#42;z&#96;[a]&#40;b)",
		"a & b\n# c":                "a &amp; b # c",
		"<img src=x onerror=y>\x1b": "&lt;img src=x onerror=y&gt;\ufffd",
	} {
		if got := Markdown(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"a <b>": "`a <b>`", "a`b": "`` a`b ``", "a``b\nc": "``` a``b c ```",
	} {
		if got := MarkdownCode(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestFirstLine: blank lines are no first line.
func TestFirstLine(t *testing.T) {
	for text, want := range map[string]string{
		"a": "a", "a\nb": "a", "\n \n  a \r\nb": "a", "": "", " \n\t": "",
	} {
		if got := FirstLine(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
