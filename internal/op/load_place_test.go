package op

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestLoadSaysWhere: a mistake in a spec is reported with its line, and an unknown key with the permitted
// keys.
func TestLoadSaysWhere(t *testing.T) {
	text, err := os.ReadFile("../catalog/layernorm/layernorm.toml")
	if err != nil {
		t.Fatal(err)
	}
	lineOf := func(part string) string {
		return ":" + strconv.Itoa(strings.Count(string(text)[:strings.Index(string(text), part)], "\n")+1)
	}
	for _, c := range []struct{ old, new, line, want string }{
		{
			`summary = "`, `sumary = "`, lineOf("summary = "),
			"unknown key sumary: want of absent, advice, also_called, attributes",
		},
		{
			`type = "float"`, `typ = "float"`, lineOf(`type = "float"`),
			"unknown key attributes.typ: want of below, default, draws, least, name, positive, type, values",
		},
		{
			`type = "float"`, `type = "flot"`, lineOf(`name = "eps"`),
			`type "flot": want bool, int, float or enum`,
		},
		{`default = { fp32 = "fp32"`, `default = { fp32 = "fp33"`, lineOf("[contract]"), `contract "fp33"`},
		{
			`{ rows = 2050, cols = 17, quick = true }`, `{ rows = 2050, colums = 17, quick = true }`,
			lineOf(`{ rows = 2050, cols = 17`), `unknown key "colums"`,
		},
		{`fp32 = ["4 * cols * x * x"]`, `fp32 = ["4 * cols * z"]`, lineOf("[limits.forward]"), "z"},
		{`chained = true`, `chained = false`, lineOf("[backward]"), "backward.chained"},
	} {
		changed := strings.Replace(string(text), c.old, c.new, 1)
		if changed == string(text) {
			t.Fatalf("%q does not occur", c.old)
		}
		_, err := Load("mine.toml", []byte(changed))
		if err == nil || !strings.Contains(err.Error(), "mine.toml"+c.line) ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s for %s: %v, want line %s and %q", c.new, c.old, err, c.line, c.want)
		}
	}
}
