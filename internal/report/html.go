package report

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"triad/internal/plot"
	"triad/internal/record"
	"triad/internal/resultdiff"
)

// Page holds the contents of an HTML report; what is empty has no section.
type Page struct {
	Subject  string // "softmax", "session 01M81...", "A and B"
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

// Document is a page ready to be written.
type Document struct{ document }

// document holds what the template of a page takes.
type document struct {
	Title    string
	Answer   []string
	Bad      bool // the answer is that something is wrong
	Nav      []navLink
	Sections []htmlSection
	Made     string
	Database string
	Live     string // address of the progress of a running session; "" where nothing runs
	Form     *htmlForm
	Policy   string
	Nonce    string
	Style    template.CSS
	Scripts  []template.JS
}

// htmlForm is a form that leads to another page.
type htmlForm struct {
	Action, Button string
	Fields         []htmlField
}

// htmlField is one field of a form: a choice if it has Choices, else text.
type htmlField struct {
	Name, Label, Value string
	Choices            []string
}

type navLink struct{ Address, Words string }

// htmlSection is a part of a page under a heading.
type htmlSection struct {
	ID, Title string
	Words     string
	Filter    bool // its rows can be filtered
	Blocks    []htmlBlock
}

// htmlBlock has one of its fields set.
type htmlBlock struct {
	Words  string
	Code   string // to be copied
	Table  *htmlTable
	Figure *htmlFigure
	More   *htmlMore
	Link   *navLink
	Links  []navLink
}

// htmlMore holds what is shown when it is opened.
type htmlMore struct {
	Title  string
	Blocks []htmlBlock
}

// htmlTable is a table whose first column names its rows.
type htmlTable struct {
	Caption string
	Header  []htmlColumn
	Rows    []htmlRow
}

type htmlColumn struct {
	Name string
	Sort string // address of the page sorted by it
	Now  string // "ascending", "descending" where the page is
	End  bool   // holds numbers
}

type htmlRow struct {
	Search string // what a filter looks at
	Weight string // "good", "neutral", "bad"
	Cells  []htmlCell
}

type htmlCell struct {
	Words  string
	Weight string
	Link   string
	Code   bool
}

// htmlFigure is a drawing with its description; Chart, if any, is redrawn by a script.
type htmlFigure struct {
	Title, Words string
	SVG          template.HTML
	Chart        *plot.Chart
}

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

// Serve writes a page of a server. Its policy, in the header of the answer, allows scripts and styles with
// this nonce.
func (d Document) Serve(w io.Writer, nonce string) error {
	page := d.document
	page.Nonce = nonce
	page.Nav = []navLink{
		{"/", "Sessions"}, {"/runs", "Runs"}, {"/diff", "Compare"}, {"/findings", "Findings"},
	}
	page.Style, page.Scripts = styleSheet(), scripts(page)
	return htmlTemplate.ExecuteTemplate(w, "page.tmpl", page)
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
		Title: p.Subject, Made: p.Made.UTC().Format("2006-01-02 15:04") + " UTC", Database: clean(p.Database),
	}
	d.Answer, d.Bad = p.answer()
	for _, s := range []htmlSection{
		p.changesSection(), p.verdictSection(), p.wrongSection(), p.errorSection(), p.timeSection(),
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
		t.Header = append(t.Header, htmlColumn{Name: c.name, End: c.right})
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

// runCell returns a cell with the ID of a run.
func (p Page) runCell(id string) htmlCell {
	c := htmlCell{Words: id, Code: true}
	if p.Linked && id != "" {
		c.Link = "/run/" + id
	}
	return c
}

// sessionCell returns a cell with the ID of a session.
func (p Page) sessionCell(id string) htmlCell {
	c := htmlCell{Words: id, Code: true}
	if p.Linked && id != "" {
		c.Link = "/session/" + id
	}
	return c
}
