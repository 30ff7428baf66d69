package kernelfile

import (
	"strings"
	"testing"

	"triad/internal/op"
)

// A number by which a function chooses the type of its tensors gets the label of each dtype; a single value
// for all dtypes is refused, and so is a number whose labels the lines do not show.
func TestNumbersThatChooseATypeGetTheirLabels(t *testing.T) {
	const head = "extern \"C\" void go(const void *x, void *y, int rows, int cols, int dtype) {\n"
	chosen := head + "switch (dtype) { case 3: case 5: k<float><<<1, 1>>>(x, y); break;\n" +
		"case 8: k<__half><<<1, 1>>>(x, y); break; default: return; } }"
	under := head + "if (dtype == 2) { k<half><<<1, 1>>>(x, y); }\n" +
		"else if (dtype == 4) { k<float><<<1, 1>>>(x, y); } }"
	s := rowsAndCols(t)
	for _, c := range []struct {
		name, text, said string
		dtypes           []string
		has, refused     string
	}{
		{name: "switch", text: chosen, has: "static_cast<int>(5)"},
		{name: "switch, said", text: chosen, said: "5", refused: "leave this out"},
		{name: "if", text: under, has: "static_cast<int>(4)"},
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
		all, err := Bind(ReadCUDA(c.text), Request{}, s, []op.Pass{op.Forward}, options)
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
