package all

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"triad/internal/catalog"
	"triad/internal/need"
	"triad/internal/truth/truthtest"
)

// TestDerivedMutants: of the mistakes that the specs let an implementation make, the cases of the default
// level show every one that the operator's survivors.txt does not list, and none that it lists. -update
// removes the killed ones and adds the survivors, with a reason that a person has to read.
func TestDerivedMutants(t *testing.T) {
	var total truthtest.DerivedScore
	for _, name := range catalog.Names() {
		t.Run(name, func(t *testing.T) {
			inputs := append(slices.Concat(need.Judge, need.Operator(name)), "internal/casegaps")
			need.Covers(t, familyOf(t, name), inputs...)
			file := inRoom(name, "survivors.txt")
			text, err := os.ReadFile(file)
			if err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			list, err := truthtest.SurvivorsIn(string(text))
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			score, right, complaints := truthtest.Derived(t, name, list)
			total.Add(score)
			for _, c := range complaints {
				if *update {
					t.Logf("%s | %s", name, c)
				} else {
					t.Errorf("%s | %s", name, c)
				}
			}
			if *update {
				err := os.WriteFile(file, []byte(truthtest.Text(right)), 0o644)
				if len(right) == 0 {
					err = os.Remove(file)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	t.Log(total)
	total.Keep(t)
}

func inRoom(operator, file string) string {
	return filepath.Join("..", "..", "catalog", operator, file)
}

var family = regexp.MustCompile(`"triad/internal/truth/(\w+)"`)

// dear is the family whose truths take as long as those of all others together: the fast tier leaves it out.
const dear = "experts"

// familyOf returns the family that the truth of an operator is made with, "plain" for none, "" for the dear
// one.
func familyOf(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(inRoom(name, "truth.go"))
	if err != nil {
		t.Fatal(err)
	}
	m := family.FindSubmatch(text)
	switch {
	case m == nil:
		return "plain"
	case string(m[1]) == dear:
		return ""
	}
	return string(m[1])
}
