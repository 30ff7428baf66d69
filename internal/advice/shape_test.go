package advice

import (
	"strings"
	"testing"
)

// A transposed shape is explained, any other is not.
func TestAShapeThatIsTransposed(t *testing.T) {
	for shape, want := range map[string]bool{
		"[7 3], want [3 7]": true, "[7 2], want [3 7]": false, "[3], want [3 7]": false,
	} {
		f := Facts{Message: "y came back with shape " + shape, Layout: "y lies row after row"}
		said := strings.Join(f.wrongShape(), "\n")
		if got := strings.Contains(said, "rows and columns of the result are exchanged"); got != want {
			t.Errorf("%s: %q", shape, said)
		}
	}
}
