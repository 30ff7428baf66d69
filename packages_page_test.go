package triad_test

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"triad/internal/need"
)

// packagesNamed returns the packages that a page lists under "Every package", by their paths below the
// module.
func packagesNamed(page string) []string {
	_, rest, _ := strings.Cut(page, "\n## Every package\n")
	section, _, _ := strings.Cut(rest, "\n## ")
	var named []string
	item, name := regexp.MustCompile("(?m)^\\* ((?:`[^`]+`(?:, )?)+)"), regexp.MustCompile("`([^`]+)`")
	for _, names := range item.FindAllStringSubmatch(section, -1) {
		for _, found := range name.FindAllStringSubmatch(names[1], -1) {
			named = append(named, found[1])
		}
	}
	return named
}

// patternOf returns the name of a package on the page: the packages of operators share a name, as do those of
// families.
func patternOf(dir string, operators []string) string {
	dir = strings.TrimPrefix(strings.TrimPrefix(dir, "triad"), "/")
	if dir == "" {
		return "triad"
	}
	if name, is := strings.CutPrefix(dir, "internal/catalog/"); is && slices.Contains(operators, name) {
		return "internal/catalog/<op>"
	}
	for family := range budgets {
		switch dir {
		case "internal/truth/" + family:
			return "internal/truth/<family>"
		case "internal/truth/" + family + "/" + family + "test":
			return "internal/truth/<family>/<family>test"
		}
	}
	return dir
}

// pagesForMaintainers name files of the repository; other pages also name files of users.
var pagesForMaintainers = []string{
	"architecture", "decisions", "glossary", "gpu", "json", "judge", "judge-proofs", "performance",
	"testing", "writing-an-op",
}

// namedFile matches a file in a page; NAME and OP stand for others.
var namedFile = regexp.MustCompile("`([a-z0-9_./-]+\\.(?:go|py|cc|cuh|cu|h|toml|sql|sh|md|txt))\\b")

// missingFiles returns the files that a page names and that are not among files, whose paths end so.
func missingFiles(page string, files []string) []string {
	var missing []string
	for _, found := range namedFile.FindAllStringSubmatch(page, -1) {
		if !slices.ContainsFunc(files, func(file string) bool {
			return strings.HasSuffix("/"+file, "/"+found[1])
		}) {
			missing = append(missing, found[1])
		}
	}
	return missing
}

// The pages for maintainers name no file that is gone.
func TestPagesNameFilesThatExist(t *testing.T) {
	files := sourceFiles(t, ".go", ".py", ".cc", ".cuh", ".cu", ".h", ".toml", ".sql", ".sh", ".md", ".txt")
	for _, name := range pagesForMaintainers {
		page := "docs/" + name + ".md"
		for _, file := range missingFiles(read(t, page), files) {
			if _, err := os.Stat(file); err != nil { // sourceFiles leaves out testdata
				t.Errorf("%s names %s, which is no file of the repository", page, file)
			}
		}
	}
	const small = "`run/plan.go` and `gone.go`, `plan.go:12`, `OP.cu`"
	got := missingFiles(small, []string{"internal/run/plan.go"})
	if !slices.Equal(got, []string{"gone.go"}) {
		t.Errorf("of a small page %q are missing", got)
	}
}

// docs/architecture.md names every package, once, and no other.
func TestEveryPackageIsNamed(t *testing.T) {
	page, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(need.Tool(t, "go"), "list", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	operators := operatorNames(t)
	named := packagesNamed(string(page))
	var there []string
	for dir := range strings.FieldsSeq(string(out)) {
		there = append(there, patternOf(dir, operators))
	}
	for _, name := range there {
		if !slices.Contains(named, name) {
			t.Errorf("docs/architecture.md does not name the package %s", name)
		}
	}
	for i, name := range named {
		if !slices.Contains(there, name) || slices.Contains(named[:i], name) {
			t.Errorf("docs/architecture.md names %s, which is no package or stands there twice", name)
		}
	}
	const small = "\n## Every package\n\n* `a`, `b/c`: d `e`\n* `f`: g\n\n## Next\n* `h`: i\n"
	if got := packagesNamed(small); !slices.Equal(got, []string{"a", "b/c", "f"}) {
		t.Errorf("of a small page %v are read", got)
	}
}
