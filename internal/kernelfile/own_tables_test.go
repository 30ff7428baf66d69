package kernelfile

import (
	"strings"
	"testing"
)

// A function that computes the tables of its operator itself is reported with advice to take them; for one
// that computes nothing, the meaning of its tensor stays open.
func TestMakesItsTables(t *testing.T) {
	copied := *pairOfRows(t)
	s := &copied
	s.Own.Packed, s.Own.Wide = nil, []string{"z"}
	const own = "it makes z itself, and made in 32 bits they are others than those that"
	const kernel = "__global__ void k(const float *m, float *v, int rows, int cols) { v[0] = cosf(m[0]); }\n"
	const plain = "void f(const float *m, float *v, int rows, int cols) { v[0] = m[0]; }\n"
	for text, why := range map[string]string{
		"mine.py def f(m):\n    return torch.cos(m) * m\n": own,
		"mine.py def f(m):  # cos(m)\n    return m * m\n":  "no parameter for x, z",
		"mine.cu " + kernel + plain:                        own,
		"mine.cu extern \"C\" " + plain:                    "what m, v stands for is not clear",
	} {
		path, code, _ := strings.Cut(text, " ")
		r := Request{Path: path, Parse: parsed}
		_, err := Bind(r.Read(code, nil), r, s, s.Passes(), Options{})
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want %q", text, err, why)
		}
	}
}
