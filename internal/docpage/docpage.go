// Package docpage reads and writes tables of documents that are made from data. A table stands between <!--
// begin: NAME --> and <!-- end: NAME -->; a test compares it with the data, and rewrites it on request. It is
// for tests only.
package docpage

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// cut splits a page into the parts before and after a table, and the table.
func cut(page, name string) (before, table, after string, err error) {
	begin, end := "<!-- begin: "+name+" -->\n", "<!-- end: "+name+" -->\n"
	before, rest, begins := strings.Cut(page, begin)
	table, after, ends := strings.Cut(rest, end)
	if !begins || !ends || strings.Contains(after, begin) {
		return "", "", "", fmt.Errorf("want the lines %s and %s once", strings.TrimSpace(begin),
			strings.TrimSpace(end))
	}
	return before + begin, table, end + after, nil
}

// Table returns the named table of a page.
func Table(page, name string) (string, error) {
	_, table, _, err := cut(page, name)
	return table, err
}

// With returns a page with the named table replaced.
func With(page, name, table string) (string, error) {
	before, _, after, err := cut(page, name)
	return before + table + after, err
}

// Is fails the test unless the named table of a file is want; update writes it there. how is the command that
// does so.
func Is(t testing.TB, file, name, want string, update bool, how string) {
	t.Helper()
	if update {
		Write(t, file, name, want)
	}
	if got := Read(t, file, name); got != want {
		t.Errorf("the table %q of %s is not that of the data: run %s\ngot\n%s\nwant\n%s", name, file, how,
			got, want)
	}
}

// Read returns the named table of a file.
func Read(t testing.TB, file, name string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	table, err := Table(string(text), name)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return table
}

// Write puts a table into a file.
func Write(t testing.TB, file, name, table string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	page, err := With(string(text), name, table)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
}
