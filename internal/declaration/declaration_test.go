package declaration

import (
	"errors"
	"testing"
)

// A line is read into its words with their places, and written as it was.
func TestLines(t *testing.T) {
	const text = "int a;\n  // triad: softmax(x=input, rows*cols=N, m=n=k=S, q+k+v:tokens=qkv, " +
		"grid=\"ceildiv(cols, 16), rows\", block=max(cols, 1), y=?)\r\n//triad:relu()\n// triad is a name\n" +
		"x = 1 // triad: no\n"
	lines, err := Find(text, "//")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`// triad: softmax(x=input, rows*cols=N, m=n=k=S, q+k+v:tokens=qkv, grid="ceildiv(cols, 16), ` +
			`rows", block=max(cols, 1), y=?)`,
		"// triad: relu()",
	}
	if len(lines) != len(want) {
		t.Fatalf("%d lines, want %d: %+v", len(lines), len(want), lines)
	}
	for i, l := range lines {
		if got := l.Text("//"); got != want[i] {
			t.Errorf("read\n%s\nwant\n%s", got, want[i])
		}
	}
	if w := lines[0].Words[2]; w.Key != "m=n=k" || w.Value != "S" || (w.At != Place{2, 43}) ||
		(w.ValueAt != Place{2, 49}) {
		t.Errorf("the third word is %+v", w)
	}
	const left = "int a;\n  // \r\n//\n// triad is a name\nx = 1 // triad: no\n"
	if got := Without(text, "//"); got != left {
		t.Errorf("without its lines the text is %q, want %q", got, left)
	}
}

// An invalid line is refused at its place.
func TestMalformedLines(t *testing.T) {
	for text, want := range map[string]string{
		"# triad:":                      `1:9: found the end of the line, want an operator, as in ` + example,
		"\n# triad: softmax":            `2:17: found the end of the line, want ( behind softmax`,
		"# triad: softmax x=input":      `1:18: found "x=input", want ( behind softmax`,
		"# triad: softmax(x=input":      `1:25: found the end of the line, want , or )`,
		"# triad: softmax(x=input,":     `1:26: found the end of the line, want key=value, as in x=input`,
		"# triad: softmax(input)":       `1:18: found "input)", want key=value, as in x=input`,
		"# triad: softmax(x=)":          `1:20: found no value of x, want key=value, as in x=input`,
		"# triad: softmax(=x)":          `1:18: found no key before =, want key=value, as in x=input`,
		"# triad: softmax(x=a) y":       `1:23: found "y", want the end of the line`,
		"# triad: softmax(grid=\"a)":    `1:23: found "\"a)", want one value in quotes that are closed`,
		"# triad: softmax(größe=?, x=)": `1:29: found no value of x, want key=value, as in x=input`,
	} {
		_, err := Find(text, "#")
		var wrong *Error
		if !errors.As(err, &wrong) || err.Error() != want {
			t.Errorf("%q:\n got %v\nwant %s", text, err, want)
		}
	}
}
