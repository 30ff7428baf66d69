package check

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"triad/internal/need"
)

// TestPrograms: ordinary programs in the manner of courses run in every order, are right by their own check,
// and nothing is found in them; every time one in four.
func TestPrograms(t *testing.T) {
	files, err := filepath.Glob("../../cuda/emulator/testdata/programs/*.cu")
	if err != nil || len(files) < 60 {
		t.Fatalf("%d programs, %v: want at least 60", len(files), err)
	}
	for i, file := range files {
		if !need.Part(i, 4) {
			continue
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".cu"), func(t *testing.T) {
			t.Parallel()
			r, output := checked(t, file, time.Minute)
			if output != "right\n" {
				t.Errorf("it printed %q", output)
			}
			for _, f := range r.Findings {
				t.Errorf("%v %s", sides(f), f.Sentence())
			}
			if len(r.Orders) != len(Orders) {
				t.Errorf("it ran in %v", r.Orders)
			}
		})
	}
}

// TestMacrosOfOneLetter: -D N=1000 and its like do not reach into the emulator's headers.
func TestMacrosOfOneLetter(t *testing.T) {
	var define []string
	for letter := 'A'; letter <= 'Z'; letter++ {
		if !strings.ContainsRune("NBM", letter) { // which the program defines itself
			define = append(define, string(letter)+"=7")
		}
	}
	file := "../../cuda/emulator/testdata/programs/short_names.cu"
	if r, output := checked(t, file, time.Minute, define...); len(r.Findings) > 0 || output != "right\n" {
		t.Errorf("findings %v, output %q", r.Findings, output)
	}
}
