package pages

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"triad/internal/browser"
	"triad/internal/pages/pagestest"
	"triad/internal/report"
	"triad/internal/resultdiff"
	"triad/results"
)

const published = "../../results/published/h200"

// open opens a database for reading.
func open(t *testing.T, path string) *results.Store {
	t.Helper()
	store, err := results.Open(context.Background(), path, results.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}

// reports writes a report of each kind and returns their files by subject.
func reports(t *testing.T) map[string]string {
	t.Helper()
	ctx := context.Background()
	path := pagestest.Database(t, published)
	pagestest.AddWrong(t, path)
	store := open(t, path)
	found, err := store.Recorded(ctx)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]report.Page{}
	for _, name := range found.Ops {
		page, err := OfOperator(ctx, store, name, time.Unix(0, 0))
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case name == pagestest.Operator:
			all[name] = page
		case len(page.Records) > len(all["published"].Records):
			all["published"] = page
		}
	}
	sessions, err := store.Sessions(ctx, "", 2)
	if err != nil {
		t.Fatal(err)
	}
	if all["session"], err = OfSession(ctx, store, sessions[0].Session.ID, time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	var sides [2]resultdiff.Side
	for i := range sides {
		if sides[i], err = store.Side(ctx, fmt.Sprint("side ", i), results.Selection{
			Session: sessions[1-i].Session.ID,
		}); err != nil {
			t.Fatal(err)
		}
	}
	all["comparison"] = OfDiff(sides[0], sides[1], resultdiff.Options{}, path, time.Unix(0, 0))
	all["empty"] = report.Page{Subject: "empty", Nothing: "This session recorded no run that ended."}
	files := map[string]string{}
	for name, page := range all {
		files[name] = filepath.Join(t.TempDir(), name+".html")
		var text strings.Builder
		if err := report.HTML(&text, page); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(files[name], []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// Every kind of report renders in a browser: no script fails, nothing is wider than a phone, a tablet or a
// desktop, axe-core finds nothing in light and dark, charts are drawn, and the filters work.
func TestReportsInABrowser(t *testing.T) {
	p := browser.Open(t)
	drawn := 0
	for name, file := range reports(t) {
		for width, dark := range map[int]bool{360: true, 768: false, 1440: len(name)%2 == 0} {
			p.Size(width, 900, dark)
			p.Go(browser.File(file))
			if pixels := p.Overflow(); pixels > 0 {
				t.Errorf("%s at %d pixels overflows by %d", name, width, pixels)
			}
			for _, e := range append(p.Axe(), p.Errors()...) {
				t.Errorf("%s at %d pixels, dark %v: %s", name, width, dark, e)
			}
			keep(t, p, name, width, dark)
		}
		charts := 0
		p.Eval(`document.querySelectorAll(".uplot canvas").length`, &charts)
		want := 0
		p.Eval(`document.querySelectorAll("script.chart").length`, &want)
		if charts != want {
			t.Errorf("%s: %d of %d charts are drawn", name, charts, want)
		}
		drawn += charts
	}
	if drawn == 0 {
		t.Error("no report has a chart")
	}
}

// keep writes a picture of the page, for inspection, into the folder that TRIAD_TEST_PICTURES names.
func keep(t *testing.T, p *browser.Page, name string, width int, dark bool) {
	t.Helper()
	folder := os.Getenv("TRIAD_TEST_PICTURES")
	if folder == "" {
		return
	}
	picture, err := base64.StdEncoding.DecodeString(p.Picture(width, min(p.Height(), 6000)))
	if err == nil {
		err = os.WriteFile(
			filepath.Join(folder, fmt.Sprintf("%s-%d-%v.png", name, width, dark)),
			picture,
			0o644,
		)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// The filter hides the rows that lack its words, and works by keyboard alone; without scripts every table is
// shown and the filter is not.
func TestFilterOfAReport(t *testing.T) {
	p := browser.Open(t)
	file := reports(t)[pagestest.Operator]
	p.Size(1024, 800, false)
	p.Go(browser.File(file))
	count := func() (shown int) {
		p.Eval(
			`Array.from(document.querySelectorAll("#verdicts tbody tr")).filter((r) => r.offsetHeight)
				.length`,
			&shown,
		)
		return shown
	}
	if n := count(); n != 3 {
		t.Fatalf("%d rows of verdicts, want 3", n)
	}
	p.Eval(`document.getElementById("filter").focus()`, nil)
	p.Press("cuda")
	if n := count(); n != 1 {
		t.Errorf("%d rows have cuda, want 1", n)
	}
	p.Press(" nothing-is-called-so")
	if n := count(); n != 0 {
		t.Errorf("%d rows have words that none has", n)
	}
	p.Go(browser.File(file))
	p.Eval(`document.getElementById("only-bad").click()`, nil)
	if n := count(); n != 1 {
		t.Errorf("%d rows are wrong, want 1", n)
	}
	hostile := 0
	p.Eval(`document.querySelectorAll("main img, main script:not(.chart)").length`, &hostile)
	if hostile != 0 {
		t.Errorf("%d elements come from names and messages", hostile)
	}
	p.Script(false)
	p.Go(browser.File(file))
	if n := count(); n != 3 {
		t.Errorf("without scripts %d rows of verdicts, want 3", n)
	}
	height, maps := 0, 0
	p.Eval(`document.querySelector(".filter").offsetHeight`, &height)
	p.Eval(`document.querySelectorAll("#wrong svg").length`, &maps)
	if height != 0 || maps != 2 {
		t.Errorf("without scripts the filter is %d pixels high; %d maps of errors, want 2", height, maps)
	}
}
