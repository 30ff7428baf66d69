package op

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// keysOf returns the keys of every table of a file that is read into a type, by the path of the table; "" is
// the head.
func keysOf(t reflect.Type, path string, into map[string][]string) {
	for i := range t.NumField() {
		field := t.Field(i)
		key := field.Tag.Get("toml")
		if key == "" {
			continue
		}
		of := field.Type
		for of.Kind() == reflect.Slice || of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct {
			into[path] = append(into[path], key)
			continue
		}
		at := strings.TrimPrefix(path+"."+key, ".")
		if path != "" && path != "limits" && path != "cost" {
			into[path] = append(into[path], key) // a table within a table that has keys of its own
		}
		keysOf(of, at, into)
	}
}

// keysNamed returns the keys that a page names under the headings of tables.
func keysNamed(page string) map[string][]string {
	named := map[string][]string{}
	heading := regexp.MustCompile("`\\[+([a-z_.]+)\\]+`")
	row := regexp.MustCompile("^\\| `([a-z_0-9]+)` \\| [^|]+ \\| [^|]+ \\|$")
	tables := []string{}
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "## ") {
			tables = nil
			for _, found := range heading.FindAllStringSubmatch(line, -1) {
				tables = append(tables, found[1])
			}
			if tables == nil {
				tables = []string{""}
			}
		}
		if found := row.FindStringSubmatch(line); found != nil {
			for _, table := range tables {
				named[table] = append(named[table], found[1])
			}
		}
	}
	return named
}

// missing lists the keys of one of two lists that the other has not.
func missing(from, of map[string][]string) []string {
	var all []string
	for table, keys := range of {
		for _, key := range keys {
			if !slices.Contains(from[table], key) {
				all = append(all, "["+table+"] "+key)
			}
		}
	}
	slices.Sort(all)
	return all
}

// TestEveryKeyIsDocumented: docs/spec.md names every key, and no other, each with its meaning and when it is
// needed.
func TestEveryKeyIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/spec.md")
	if err != nil {
		t.Fatal(err)
	}
	read := map[string][]string{}
	keysOf(reflect.TypeFor[Spec](), "", read)
	named := keysNamed(string(page))
	lacks, extra := missing(named, read), missing(read, named)
	if len(lacks) > 0 || len(extra) > 0 {
		t.Fatalf("docs/spec.md does not name %v, and names %v, which are no keys", lacks, extra)
	}
	wrong := keysNamed(strings.Replace(string(page), "| `positive` |", "| `negative` |", 1))
	if lacks, extra := missing(wrong, read), missing(read, wrong); len(lacks) != 1 || len(extra) != 1 {
		t.Errorf("of a page with one wrong key: it lacks %v and names %v beside", lacks, extra)
	}
}
