package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"triad/internal/need"
)

// TestWrittenLineIsJudgedTheSame: with the line that --write puts into a file, the file is judged as before,
// and nothing of it is left open.
func TestWrittenLineIsJudgedTheSame(t *testing.T) {
	need.Tool(t, "g++")
	for _, c := range readOwnCases(t) {
		if !slices.Contains([]string{
			"softmax_template_block.cu", "attention_constant_dim.cu", "add_square.cu",
			"layernorm_other_eps.cu", "swiglu_one_buffer_exchanged.cu", "softmax_bare_kernel.py",
			"rope_rotate_half.py",
		}, c.File) || len(c.Flags) > 0 {
			continue
		}
		t.Run(c.File, func(t *testing.T) {
			need.Covers(t, "a line in a "+filepath.Ext(c.File), c.inputs()...)
			if strings.HasSuffix(c.File, ".py") {
				testPython(t)
			}
			text, err := os.ReadFile(filepath.Join("testdata", "own", c.File))
			if err != nil {
				t.Fatal(err)
			}
			folder := t.TempDir()
			writeFiles(t, folder, string(text), c.File)
			args := []string{
				"compare", c.Operator, "--impl", "mine", "--quick", "--device", "cpu", "--limit",
				"readings=3m", "--add", filepath.Join(folder, c.File), "--write",
			}
			before, code := runTriad(t, args...)
			written := regexp.MustCompile(`(?m)^Line \d+ of .* is now: (.*)$`).FindStringSubmatch(before)
			if written == nil {
				t.Fatalf("exit %d, and no line is written:\n%s", code, before)
			}
			if code == 3 { // the line is that of the interpretation that is right
				code = 0
			}
			after, again := runTriad(t, args...)
			if again != code || !strings.Contains(after, "of the file says") ||
				!strings.Contains(after, "says already how") || strings.Contains(after, "was assumed") {
				t.Errorf("exit %d with %s, want %d, and nothing assumed:\n%s\nbefore\n%s", again, written[1],
					code, after, before)
			}
		})
	}
}

// TestLineIsHeldToItsWord: a line is binding: what contradicts it is FAIL, and an impossible one is rejected
// at its place.
func TestLineIsHeldToItsWord(t *testing.T) {
	need.Tool(t, "g++")
	unnamed := strings.NewReplacer("x[", "from[", "float* x", "float* from", "rows", "p", "cols", "q").
		Replace(rightRow)
	for _, c := range []struct {
		line, says string
		code       int
	}{
		{`softmax(x=from, y=y, rows=p, cols=q, grid="ceildiv(rows, 9)", block=9)`, `mine/mine.cu +PASS`, 0},
		{`softmax(x=from, y=y, rows=q, cols=p, grid="ceildiv(rows, 9)", block=9)`, `mine/mine.cu +FAIL`, 1},
		{"relu(x=from, y=y, n=p)", `not taken: softmax, of which line 1 says that it is relu`, 2},
		{"softmax(x=from, y=z)", `mine\.cu:1:29: softmax has no parameter "z": it has from, y, p, q`, 2},
		{"sofmax(x=from)", `mine\.cu:1:11: "sofmax" is no operator: want one of add, `, 2},
		{"softmax(x=from", `mine\.cu:1:25: found the end of the line, want , or \)`, 2},
	} {
		folder := t.TempDir()
		writeFiles(t, folder, "// triad: "+c.line+"\n"+unnamed, "mine.cu")
		text, code := runTriad(t, "compare", judgedOperator, "--impl", "mine", "--quick", "--device", "cpu",
			"--dims", "rows=3,cols=5", "--dtype", "fp32", "--add", filepath.Join(folder, "mine.cu"))
		if code != c.code || !regexp.MustCompile(c.says).MatchString(text) {
			t.Errorf("%s: exit %d, want %d and %s in\n%s", c.line, code, c.code, c.says, text)
		}
	}
}
