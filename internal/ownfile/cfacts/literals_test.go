package cfacts

import "testing"

// Doubles of some values become floats; other doubles, and floats, stay.
func TestWithSingles(t *testing.T) {
	got := WithSingles("x = 0.01 * y + 0.01f + 0.5 + 1e-2*z + f(0.01,0.01,0.01);", []float64{0.01})
	if want := "x = 0.01f * y + 0.01f + 0.5 + 1e-2f*z + f(0.01f,0.01f,0.01f);"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
