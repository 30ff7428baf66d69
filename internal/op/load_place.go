package op

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// keysBeside lists the keys that may replace an unknown one in a file that is read into a t; key is its path.
func keysBeside(t reflect.Type, key []string) []string {
	for _, part := range key[:max(len(key)-1, 0)] {
		if _, err := strconv.Atoi(part); err == nil {
			continue // the number of an entry
		}
		for i := range t.NumField() {
			if t.Field(i).Tag.Get("toml") == part {
				t = t.Field(i).Type
				break
			}
		}
		for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct {
			return nil
		}
	}
	var names []string
	for i := range t.NumField() {
		if name := t.Field(i).Tag.Get("toml"); name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// named matches the subject of an error: "attribute eps: ...", "check.shapes, entry 3: ...",
// "contract.default of ...".
var (
	named = regexp.MustCompile(`^(?:default of )?(?:dim|attribute|input|output|backward tensor) ` +
		`"?([a-z0-9_]+)`)
	shapeAt = regexp.MustCompile(`^check\.shapes, entry (\d+)`)
	section = regexp.MustCompile(
		`^(backward|contract|cost\.forward|cost\.backward|cost|limits\.forward|limits\.backward|limits|` +
			`check)\b`)
	topKey = regexp.MustCompile(`^(name|summary|dtypes|require|dims)\b`)
)

// placeOf returns the line of a spec that an error of its meaning refers to, as ":12", so far as the text
// shows it; "" where it does not.
func placeOf(err error, text []byte) string {
	message := err.Error()
	var pattern string
	skip := 0
	switch {
	case named.MatchString(message):
		pattern = `^\s*name\s*=\s*"` + named.FindStringSubmatch(message)[1] + `"`
	case shapeAt.MatchString(message):
		n, _ := strconv.Atoi(shapeAt.FindStringSubmatch(message)[1])
		pattern, skip = `\{[^}]*=[^}]*\}`, n-1
	case section.MatchString(message):
		pattern = `^\s*\[` + regexp.QuoteMeta(section.FindString(message))
	case topKey.MatchString(message):
		pattern = `^\s*(\[\[)?` + topKey.FindString(message) + `\b`
	default:
		return ""
	}
	find, lines := regexp.MustCompile(pattern), strings.Split(string(text), "\n")
	first := 0
	if shapeAt.MatchString(message) {
		first = slices.IndexFunc(lines,
			func(l string) bool { return strings.HasPrefix(strings.TrimSpace(l), "shapes") })
	}
	for i := max(first, 0); i < len(lines); i++ {
		line, _, _ := strings.Cut(lines[i], " #")
		n := len(find.FindAllString(line, -1))
		if n > skip {
			return fmt.Sprintf(":%d", i+1)
		}
		skip -= n
	}
	return ""
}
