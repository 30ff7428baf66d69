package kernelfile

import "testing"

// Names of functions of angles and of tiles are read as words, in each form that CUDA and Triton give them.
func TestNamesReadAsWords(t *testing.T) {
	for name, want := range map[string]bool{
		"sin": true, "__sinf": true, "cospif": true, "sincospi": true, "sincosf": true,
		"sinh": false, "asin": false, "sinfpi": false, "pi": false, "": false,
	} {
		if got := ofAngles(name); got != want {
			t.Errorf("%q computes angles: %v, want %v", name, got, want)
		}
	}
	for name, want := range map[string]bool{
		"BLOCK_M": true, "TILE": true, "X_SIZE": true, "size": false,
		"N": false,
	} {
		if got := namesTile(name); got != want {
			t.Errorf("%q is a tile: %v, want %v", name, got, want)
		}
	}
}
