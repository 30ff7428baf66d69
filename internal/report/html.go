package report

import (
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"triad/internal/op"
	"triad/internal/plot"
	"triad/internal/record"
	"triad/internal/resultdiff"
)

// Page holds the contents of an HTML report. Empty parts get no section.
type Page struct {
	Subject  string // "softmax", "session 01M81...", "A and B"
	Command  string // of the session that the page is of: its title; "" if it is of none
	Records  []record.Record
	Sessions []record.Measured // that the records come from, newest first
	// the steps of each implementation's history, by operator
	Histories map[string]map[string][]resultdiff.Step
	HistoryOf int       // the number of newest sessions in it, if older ones are left out; else 0
	Diff      *PageDiff // of a comparison
	Made      time.Time
	Left      int    // records that are left out, since there are too many
	Nothing   string // why there are no records, in a sentence
	Database  string
	// Linked: the page is served, and names of runs, sessions and operators link to their pages
	Linked bool
}

// PageDiff is a comparison of two sides.
type PageDiff struct {
	A, B    resultdiff.Side
	Changes []resultdiff.Change
}

//go:embed html
var htmlFiles embed.FS

var htmlTemplate = template.Must(template.ParseFS(htmlFiles, "html/*.tmpl"))

// HTML writes a self-contained page: it needs no network, and its tables no script.
func HTML(w io.Writer, p Page) error {
	d := p.document()
	d.Style, d.Scripts = styleSheet(), scripts(d)
	sources := make([]string, len(d.Scripts))
	for i, s := range d.Scripts {
		sources[i] = hashOf(string(s))
	}
	d.Policy = fmt.Sprintf(
		"default-src 'none'; img-src data:; style-src %s; script-src %s; base-uri 'none'; "+
			"form-action 'none'",
		hashOf(string(d.Style)),
		orNone(sources),
	)
	return htmlTemplate.ExecuteTemplate(w, "page.tmpl", d)
}

// Document returns the page.
func (p Page) Document() Document { return Document{p.document()} }

// servedPages are the pages that each page of a server links to, and the beginnings of the paths of the pages
// below them.
var servedPages = []struct {
	navLink
	below []string
}{
	{navLink{Address: "/", Words: "Home"}, []string{"/session/", "/op/"}},
	{navLink{Address: "/runs", Words: "Runs"}, []string{"/run/"}},
	{navLink{Address: "/diff", Words: "Compare"}, nil},
	{navLink{Address: "/query", Words: "Query"}, nil},
	{navLink{Address: "/findings", Words: "Findings"}, nil},
}

// Serve writes the page of a server that is at path. Its policy, in the header of the answer, allows scripts
// and styles with this nonce.
func (d Document) Serve(w io.Writer, nonce, path string) error {
	page := d.document
	page.Nonce = nonce
	for _, p := range servedPages {
		link := p.navLink
		switch {
		case d.Alone:
			continue
		case link.Address == path:
			link.Current = "page"
		case slices.ContainsFunc(p.below, func(b string) bool { return strings.HasPrefix(path, b) }):
			link.Current = "true"
		}
		page.Nav = append(page.Nav, link)
	}
	page.Style, page.Scripts = styleSheet(), scripts(page)
	return htmlTemplate.ExecuteTemplate(w, "page.tmpl", page)
}

// Contents writes the answer and the contents of a page alone, to replace those of the page that is shown.
func (d Document) Contents(w io.Writer) error {
	return htmlTemplate.ExecuteTemplate(w, "contents", d.document)
}

// hashOf returns the hash of a script or style sheet for a Content-Security-Policy.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func orNone(sources []string) string {
	if len(sources) == 0 {
		return "'none'"
	}
	return strings.Join(sources, " ")
}

// asset returns an embedded file.
func asset(name string) string {
	text, err := htmlFiles.ReadFile("html/" + name)
	if err != nil {
		panic(err) // it is part of the program
	}
	return string(text)
}

func styleSheet() template.CSS {
	return template.CSS("\n" + plot.Style + asset("uPlot.min.css") + asset("style.css"))
}

// scripts returns the scripts that a page needs: that of charts only if there is a chart.
func scripts(d document) []template.JS {
	all := []template.JS{}
	if d.hasChart() {
		all = append(all, template.JS("\n/*\n"+asset("uPlot.LICENSE")+"*/\n"+asset("uPlot.min.js")))
	}
	return append(all, template.JS("\n"+asset("page.js")))
}

func (d document) hasChart() bool {
	var look func(blocks []htmlBlock) bool
	look = func(blocks []htmlBlock) bool {
		for _, b := range blocks {
			if b.Figure != nil && b.Figure.Chart != nil || b.More != nil && look(b.More.Blocks) {
				return true
			}
		}
		return false
	}
	for _, s := range d.Sections {
		if look(s.Blocks) {
			return true
		}
	}
	return false
}

// document builds the parts of a page.
func (p Page) document() document {
	d := document{
		Title: clean(cmp.Or(p.Command, p.Subject)), IsCommand: p.Command != "",
		Made: minuteOf(p.Made), Database: clean(p.Database),
	}
	d.Answer, d.Bad = p.answer()
	d.Open = !d.Bad && !slices.ContainsFunc(p.Records, func(r record.Record) bool {
		return r.Status.Weight() == op.Good
	}) && p.Diff == nil
	for _, s := range []htmlSection{
		p.changesSection(), p.whySection(), p.verdictSection(), p.wrongSection(), p.errorSection(),
		p.timeSection(),
		p.historySection(), p.elementSection(), p.environmentSection(),
	} {
		if len(s.Blocks) > 0 {
			d.Sections = append(d.Sections, s)
		}
	}
	return d
}

// tableOf makes a table from names as columns takes them; the first cell of each row is its heading.
func tableOf(caption string, names []string, rows []htmlRow) htmlBlock {
	t := &htmlTable{Caption: caption, Rows: rows}
	for _, c := range columns(names...) {
		t.Header = append(t.Header, htmlColumn{
			Name: c.name, End: c.right, Whole: strings.HasPrefix(c.name, "started") || c.name == "verdict",
		})
	}
	return htmlBlock{Table: t}
}

// row returns a row of plain cells; a filter searches all of its words.
func row(weight string, words ...string) htmlRow {
	r := htmlRow{Weight: weight, Search: strings.ToLower(strings.Join(words, " "))}
	for _, w := range words {
		r.Cells = append(r.Cells, htmlCell{Words: clean(w)})
	}
	return r
}

// idLength is the number of characters of an ID that a page shows; a tooltip has all of it.
const idLength = 10

// runCell returns a cell with the ID of a run.
func (p Page) runCell(id string) htmlCell { return p.idCell(id, "/run/") }

// sessionCell returns a cell with the ID of a session.
func (p Page) sessionCell(id string) htmlCell { return p.idCell(id, "/session/") }

func (p Page) idCell(id, at string) htmlCell {
	c := htmlCell{Words: short(id, idLength), Full: id, Code: true}
	if p.Linked && id != "" {
		c.Link = at + id
	}
	return c
}
