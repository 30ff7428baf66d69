package advice

import "testing"

// A number of blocks that is rounded down is named with its line; one that is rounded up, or is one of
// several dimensions, is not.
func TestLaunchDivision(t *testing.T) {
	const named = "n / 256 blocks may leave out elements unless 256 divides n: (n + 256 - 1) / 256"
	for text, want := range map[string]string{
		"int n;\nk<<<n / 256, 256>>>(x);":          named,
		"k<<<(n + 255) / 256, 256>>>(x);":          "",
		"// k<<<n / 256, 256>>>(x);":               "",
		"k<<<blocks, n / 256>>>(x);":               "",
		"dim3 g(n / 16, n / 16);\nk<<<g, b>>>(x);": "",
	} {
		line, words := LaunchDivision(text)
		if words != want || (line == 2) != (want != "") {
			t.Errorf("%s: line %d, %q", text, line, words)
		}
	}
}
