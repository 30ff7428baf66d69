package manyfiles

import (
	"strings"

	"triad/internal/candidates"
	"triad/internal/runsetup"
	"triad/results"
)

// Rows holds the results of many files: for each word of --add the rows of its functions.
type Rows struct {
	words []string
	rows  [][]*candidates.Row
	at    map[string]int // words by the names of their implementations
}

// RowsOf returns the rows of the words of --add, none filled yet.
func RowsOf(o *runsetup.Options) Rows {
	f := Rows{
		words: o.Own.Add, rows: make([][]*candidates.Row, len(o.Own.Add)), at: map[string]int{},
	}
	for i, text := range f.words {
		f.at[NameOf(&o.Own, text)] = i
	}
	return f
}

// Take counts a recorded run.
func (f *Rows) Take(o results.Outcome) {
	i, named := f.at[o.Impl]
	if !named {
		file, _, _ := strings.Cut(o.Impl, ":") // of a file with several functions
		if i, named = f.at[file]; !named {
			return
		}
	}
	f.row(i, o.Impl).Add(o.Status, o.Message, o.Run)
}

// row returns the row of a function of a file, and creates it if there is none.
func (f *Rows) row(i int, impl string) *candidates.Row {
	for _, row := range f.rows[i] {
		if row.Impl == impl {
			return row
		}
	}
	row := &candidates.Row{File: f.words[i], Impl: impl}
	f.rows[i] = append(f.rows[i], row)
	return row
}

// InOrder returns the rows in the order of the words.
func (f *Rows) InOrder() (rows []*candidates.Row) {
	for _, of := range f.rows {
		rows = append(rows, of...)
	}
	return rows
}

// Done returns how many files have a row.
func (f *Rows) Done() int {
	n := 0
	for _, of := range f.rows {
		if len(of) > 0 {
			n++
		}
	}
	return n
}
