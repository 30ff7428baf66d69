package check

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"triad/cuda/program"
)

// sanitizedZoo is the folder of programs whose planted bug only a compiler's sanitizer sees. A line with a
// bug has the comment BUG(sanitizer kind).
const sanitizedZoo = "../../cuda/emulator/testdata/sanitize"

// underSanitizer builds a program with a sanitizer and runs it.
func underSanitizer(t *testing.T, file string, s program.Sanitizer, define ...string) ([]Finding, []string) {
	t.Helper()
	ctx := context.Background()
	built, err := program.Build(ctx, builder(t), program.Source{File: file, Define: define, Sanitizer: s})
	if err != nil {
		t.Fatal(err)
	}
	q := requestOf(built)
	q.Limit, q.Stall, q.Budget = 2*time.Minute, 2*time.Second, 2*time.Minute
	own := Sanitized{Name: string(s), Program: built.Path, Locate: q.Locate}
	found, notes, err := own.run(ctx, q)
	if err != nil {
		t.Fatal(err)
	}
	return found, notes
}

var plantedForSanitizer = regexp.MustCompile(`BUG\((\w+) ([a-z-]+)\)`)

// bugsForSanitizer returns the bugs that a program's comments name, and the sanitizer that finds them.
func bugsForSanitizer(t *testing.T, file string) (want map[string]bool, named string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want = map[string]bool{}
	for i, line := range strings.Split(string(text), "\n") {
		if m := plantedForSanitizer.FindStringSubmatch(line); m != nil {
			want[fmt.Sprintf("%s: %s at line %d", m[1], m[2], i+1)] = true
			named = m[1]
		}
	}
	return want, named
}

// TestSanitizers: the named sanitizer finds every planted bug, at its lines, and nothing else; the emulator
// alone finds nothing. The fast tier runs one program for each sanitizer.
func TestSanitizers(t *testing.T) {
	for _, file := range programsIn(t, sanitizedZoo) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".cu"), func(t *testing.T) {
			want, named := bugsForSanitizer(t, file)
			covers(t, file, named)
			t.Parallel()
			built := program.AddressSanitizer
			if named == "thread" {
				built = program.ThreadSanitizer
			}
			got := map[string]bool{}
			found, notes := underSanitizer(t, file, built)
			for _, f := range found {
				for _, side := range sides(f) {
					got[f.Sanitizer+": "+side] = true
				}
			}
			if len(want) == 0 || !maps.Equal(got, want) || len(notes) > 0 {
				t.Errorf("found %v, want %v; notes %q", got, want, notes)
			}
			alone, _ := checked(t, file, time.Minute)
			for _, f := range alone.Findings {
				t.Errorf("the emulator alone finds %v %s", sides(f), f.Sentence())
			}
		})
	}
}

// silentWitness is the program whose twin differs by one line; both sanitizers follow it.
const silentWitness = "host_threads_count"

func programsIn(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.cu"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d programs, %v", folder, len(files), err)
	}
	return files
}

// TestSanitizersAreSilent: no sanitizer finds anything in correct programs: the fixed twins of the zoo, and
// the ordinary programs as they stand. The fast tier runs one program under each sanitizer.
func TestSanitizersAreSilent(t *testing.T) {
	for _, folder := range []string{zoo, sanitizedZoo, programs} {
		for _, file := range programsIn(t, folder) {
			for _, s := range program.Sanitizers {
				base := strings.TrimSuffix(filepath.Base(file), ".cu")
				t.Run(base+"/"+string(s), func(t *testing.T) {
					key := ""
					if base == silentWitness {
						key = string(s) + " sanitizer"
					}
					covers(t, file, key)
					t.Parallel()
					found, notes := underSanitizer(t, file, s, "FIXED")
					for _, f := range found {
						t.Errorf("%v %s (%s)", sides(f), f.Sentence(), f.Check)
					}
					if len(notes) > 0 {
						t.Errorf("%q", notes)
					}
				})
			}
		}
	}
}
