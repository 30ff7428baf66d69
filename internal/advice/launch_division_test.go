package advice

import "testing"

// A number of blocks that is rounded down is named with its line; one that is rounded up, or is one of
// several dimensions, is not.
func TestLaunchDivision(t *testing.T) {
	for text, want := range map[string]string{
		"int n;\nk<<<n / 256, 256>>>(x);": "n / 256 blocks leave out elements unless 256 divides n: " +
			"(n + 256 - 1) / 256",
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
