package serve

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"triad/internal/browser"
	"triad/internal/need"
	"triad/internal/operatorpage"
	"triad/internal/pages/pagestest"
)

// looks are the pages by name; a run, a session and an operator are added to them.
var looks = map[string]string{
	"home": "/", "runs": "/runs", "compare": "/diff", "comparison": "/diff?a=last~1&b=last",
	"query": "/query", "result": "/query?saved=least-headroom", "refused": "/query?sql=delete+from+run",
	"findings": "/findings", "missing": "/nowhere", "operator": "/op/" + pagestest.Operator,
}

// TestPagesLook: on a desktop and on a phone, in light and in dark, nothing of any page is cut or lies beside
// it, axe-core finds nothing, and no script fails.
func TestPagesLook(t *testing.T) {
	need.Covers(t, "pages", "internal/serve", "internal/report", "internal/plot", "internal/pages")
	path := nothing(t)
	pagestest.AddWrong(t, path)
	s, address := serving(t, path, Options{Findings: operatorpage.Findings()})
	p := browser.Open(t)
	p.Size(1400, 900, false)
	p.Go(s.Address())
	all := map[string]string{}
	for name, at := range looks {
		all[name] = "http://" + address + at
	}
	all["session"] = href(p, "#sessions tbody a")
	p.Go(all["session"])
	all["run"] = href(p, "#wrong tbody a")
	for name, at := range all {
		p.Go(at)
		for _, width := range []int{1400, 400} {
			for _, dark := range []bool{false, true} {
				p.Size(width, 900, dark)
				found := append(p.Axe(), p.Cut()...)
				if pixels := p.Overflow(); pixels > 0 {
					found = append(found, strconv.Itoa(pixels)+" pixels lie beside the page")
				}
				for _, e := range append(found, p.Errors()...) {
					if name == "missing" && strings.Contains(e, "404") {
						continue // as the page says
					}
					t.Errorf("%s, %d pixels, dark %v: %s", name, width, dark, e)
				}
				keep(t, p, name, width, dark)
			}
		}
	}
}

// href returns the address of a link.
func href(p *browser.Page, selector string) (address string) {
	p.Eval(`document.querySelector("`+selector+`").href`, &address)
	return address
}

// keep writes a picture of a page into the folder that TRIAD_TEST_PICTURES names.
func keep(t *testing.T, p *browser.Page, name string, width int, dark bool) {
	t.Helper()
	folder := os.Getenv("TRIAD_TEST_PICTURES")
	if folder == "" {
		return
	}
	picture, err := base64.StdEncoding.DecodeString(p.Picture(width, min(p.Height(), 3000)))
	if err != nil {
		t.Fatal(err)
	}
	shade := map[bool]string{true: "dark", false: "light"}[dark]
	file := filepath.Join(folder, name+"-"+strconv.Itoa(width)+"-"+shade+".png")
	if err := os.WriteFile(file, picture, 0o644); err != nil {
		t.Fatal(err)
	}
}
