package check

import (
	"flag"
	"path/filepath"
	"strings"
	"testing"

	"triad/cuda/program"
	"triad/internal/docpage"
)

var updatePage = flag.Bool("update", false, "write the reports of docs/check.md, and testdata/explained.txt")

// TestPage: the reports in docs/check.md are those that check prints for these programs.
func TestPage(t *testing.T) {
	for _, name := range documented {
		showsReport(t, reportOnce(t, filepath.Join(zoo, name+".cu")), zoo, name)
	}
	found, _ := underSanitizer(t, filepath.Join(sanitizedZoo, "size_overflow.cu"), program.AddressSanitizer)
	showsReport(t, &Report{Findings: found}, sanitizedZoo, "size_overflow")
}

// showsReport checks that the page has the first finding of a report.
func showsReport(t *testing.T, r *Report, programs, name string) {
	t.Helper()
	folder, err := filepath.Abs(programs)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := Write(&text, r, folder, true); err != nil {
		t.Fatal(err)
	}
	report, _, _ := strings.Cut(text.String(), "\n\n")
	docpage.Is(t, "../../docs/check.md", name, "```\n"+report+"\n```\n", *updatePage,
		"go test ./internal/check -run Page -update")
}
