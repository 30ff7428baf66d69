package record

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// An excerpt holds the lines around those that causes name in the file itself, as far as these lie together.
func TestExcerptOf(t *testing.T) {
	var lines []string
	for i := range 300 {
		lines = append(lines, strconv.Itoa(i+1))
	}
	lines[9] = strings.Repeat("é", 400)
	text := strings.Join(lines, "\n") + "\n"
	for _, c := range []struct {
		causes      []Cause
		first, last int // 0: there is no excerpt
		marked      []int
	}{
		{nil, 0, 0, nil},
		{[]Cause{{Text: "no line"}, {File: "other.h", Line: 5}, {Line: 301}}, 0, 0, nil},
		{[]Cause{{Line: 1}}, 1, 9, []int{1}},
		{[]Cause{{Line: 300}, {Line: 290}}, 282, 300, []int{290, 300}},
		{[]Cause{{Line: 100}, {Line: 10}, {Line: 130}}, 92, 138, []int{100, 130}},
	} {
		e := ExcerptOf("a.cu", text, c.causes)
		if c.first == 0 {
			if e != nil {
				t.Errorf("%v: %+v", c.causes, e)
			}
			continue
		}
		if e == nil || e.First != c.first || e.First+len(e.Lines)-1 != c.last ||
			!slices.Equal(e.Marked, c.marked) || e.Lines[0] != strconv.Itoa(c.first) {
			t.Errorf("%v: %+v", c.causes, e)
		}
	}
	e := ExcerptOf("a.cu", text, []Cause{{Line: 10}})
	if line := e.Lines[10-e.First]; len(line) > mostOfALine+4 || !strings.HasSuffix(line, "é ...") {
		t.Errorf("a long line is %q", line)
	}
}
