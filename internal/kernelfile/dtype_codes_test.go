package kernelfile

import (
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
)

// A number by which a function chooses the type of its tensors is refused, and so is a single value of it for
// all dtypes; in one dtype it is passed.
func TestNumbersThatChooseAType(t *testing.T) {
	const head = "extern \"C\" void go(const void *x, void *y, int rows, int cols, int dtype) {\n"
	s := rowsAndCols(t)
	for _, c := range []struct {
		name, text, said string
		dtypes           []string
		has, refused     string
	}{
		{name: "unread", text: head + "go_on(x, y, dtype); }", refused: "--map dtype=0 --dtype fp32"},
		{name: "unread, said", text: head + "go_on(x, y, dtype); }", said: "1", refused: "--dtype fp32"},
		{
			name: "unread, said in a dtype", text: head + "go_on(x, y, dtype); }", said: "1",
			dtypes: []string{"fp32"}, has: "slot 4 is 1\n",
		},
	} {
		options := Options{DTypes: c.dtypes, Map: map[string]string{}}
		if c.said != "" {
			options.Map["dtype"] = c.said
		}
		all, err := Bind(cfacts.ReadCUDA(c.text), Request{}, s, []op.Pass{op.Forward}, options)
		if c.refused != "" {
			if err == nil || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%s: %v, want %q", c.name, err, c.refused)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		shim := CUDAShim("mine.cu", "mine/mine", all) + givenIn(t, all[0])
		if !strings.Contains(shim, c.has) || c.said == "" && strings.Contains(shim, "TRIAD_BF16:\n\t\t::go") {
			t.Errorf("%s: no %q in\n%s", c.name, c.has, shim)
		}
	}
}
