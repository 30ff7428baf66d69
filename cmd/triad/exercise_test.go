package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"triad/cuda/cudatest"
	"triad/internal/need"
)

// TestExercises: the public exercise of an operator, which triad new --from copies, is judged without a flag:
// its parameters mean what the file's first line says, and it passes. The fast tier judges one of each
// family of operators.
func TestExercises(t *testing.T) {
	need.Tool(t, "g++")
	files, err := filepath.Glob("../../internal/opfolder/kernels/*.cu")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d exercises, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			matched, _, _ := strings.Cut(strings.TrimPrefix(string(source), "// "), "\n")
			operator := strings.TrimSuffix(filepath.Base(file), ".cu")
			inputs := slices.Concat(need.UserFiles, need.Emulator, need.Judge, need.Operator(operator))
			need.Covers(t, "an exercise of the family "+cudatest.FamilyOf(t, operator),
				append(inputs, "cmd/triad/"+file)...)
			text, code := runTriad(t, "compare", operator, "--impl", "mine", "--quick", "--verbose",
				"--device", "cpu", "--add", file)
			if code != 0 || !strings.Contains(text, matched+"\n") {
				t.Errorf("exit %d, want 0 and %q in\n%s", code, matched, text)
			}
			for _, line := range statusOfAFile.FindAllStringSubmatch(text, -1) {
				if line[1] != "PASS" {
					t.Errorf("status %s, want PASS\n%s", line[1], text)
				}
			}
		})
	}
}

// TestWrongExercises: files that are nearly the public exercise of an operator,
// testdata/wrong_exercises/<op>/<what>.cu, are wrong, and their message matches the file's first line.
func TestWrongExercises(t *testing.T) {
	need.Tool(t, "g++")
	suite := t
	files, err := filepath.Glob("testdata/wrong_exercises/*/*.cu")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d wrong exercises, %v", len(files), err)
	}
	for _, file := range files {
		operator := filepath.Base(filepath.Dir(file))
		t.Run(operator+"/"+filepath.Base(file), func(t *testing.T) {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			says, _, _ := strings.Cut(strings.TrimPrefix(string(source), "// "), "\n")
			inputs := slices.Concat(need.UserFiles, need.Emulator, need.Judge, []string{"cmd/triad/" + file})
			need.Covers(t, kindOfMessage(operator, says), inputs...)
			text, code := runTriad(t, "compare", operator, "--impl", "mine", "--quick", "--verbose",
				"--device", "cpu", "--add", file)
			if code != 1 || !regexp.MustCompile(says).MatchString(text) {
				t.Errorf("exit %d, want 1 and %s in\n%s", code, says, text)
			}
			// TestOwnFiles repeats a wrong file of each form
			if need.Chosen(suite, "again "+file, "the command that repeats it", inputs...) {
				repeats(t, text)
			}
		})
	}
}

// kindOfMessage is the key of a wrong exercise: the operator where the message has a sentence of that
// operator's advice, one key for all messages that only give an element, and one for the sentence that two
// operators share.
func kindOfMessage(operator, says string) string {
	switch {
	case strings.Contains(says, "] is ") || strings.Contains(says, "elements are wrong"):
		return "an element with what it is and should be"
	case strings.Contains(says, "ignore_index"):
		return "ignored targets"
	}
	return operator
}
