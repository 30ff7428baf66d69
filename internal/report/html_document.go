package report

import (
	"html/template"

	"triad/internal/plot"
)

// Document is a page ready to be written.
type Document struct{ document }

// document holds what the template of a page takes.
type document struct {
	Title     string
	IsCommand bool // the title is a command
	Answer    []string
	Bad       bool // the answer is that something is wrong
	Open      bool // it is not known yet whether something is
	Alone     bool // it links to no other page
	Nav       []navLink
	Sections  []htmlSection
	Made      string
	Database  string
	Live      string // address of the progress of a running session; "" where nothing runs
	Form      *htmlForm
	Policy    string
	Nonce     string
	Update    string // address of newer contents of the page, which replace its own
	State     string // the state that it shows
	Style     template.CSS
	Scripts   []template.JS
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
	Offered            []htmlOption // what is offered for a text
	Rows               int          // of a text of several lines; 0: it has one
}

// htmlOption is a suggested value of a field, with its label.
type htmlOption struct{ Value, Words string }

// navLink is a link; Current says how the page is related to it: "page", "true" for a page below it, or "".
type navLink struct{ Address, Words, Current string }

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
	Lead   string // words that stand out
	Code   string // to be copied
	Text   string // several lines as they are
	Source *htmlSource
	File   *htmlFile
	Table  *htmlTable
	Figure *htmlFigure
	More   *htmlMore
	Link   *navLink
	Links  []navLink
}

// htmlMore is a collapsed block with its contents.
type htmlMore struct {
	Title  string
	Blocks []htmlBlock
}

// htmlSource is a part of a file, with lines that are marked.
type htmlSource struct {
	Name  string
	Lines []htmlLine
}

type htmlLine struct {
	Number int
	Words  string
	Marked bool
	Cause  string // why it is marked
}

// htmlTable is a table whose first column names its rows.
type htmlTable struct {
	Caption string
	Facts   bool // it has two columns: names and what they stand for
	Header  []htmlColumn
	Rows    []htmlRow
}

type htmlColumn struct {
	Name string
	Sort string // address of the page sorted by it
	Now  string // "ascending", "descending" where the page is
	End  bool   // holds numbers
	// Whole: its cells are not broken into lines
	Whole bool
}

type htmlRow struct {
	Search string // what a filter looks at
	Weight string // "good", "neutral", "bad"
	Cells  []htmlCell
}

type htmlCell struct {
	Words  string
	Full   string // what Words abbreviates
	Weight string
	Link   string
	Code   bool
	Chips  []htmlChip
	Note   string // small words below
}

// htmlChip is one of several verdicts in a cell.
type htmlChip struct{ Mark, Words, Weight, Link string }

// htmlFigure is a drawing with its description; Chart, if any, is redrawn by a script.
type htmlFigure struct {
	Title, Words string
	SVG          template.HTML
	Chart        *plot.Chart
}
